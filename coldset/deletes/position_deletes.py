"""Which rows of a data file are deleted by their position.

Files of position deletes name data files and rows in them; a deletion vector,
of format version 3, is a bitmap in a Puffin file. Either becomes a bitmap here.
What applies to a data file is decided in `delete_index`. Format: Iceberg 1.12,
Puffin blob `deletion-vector-v1`.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.io import FileIO
from pyroaring import BitMap64

from coldset.deletes.delete_index import DELETED_PATH, DELETED_POSITION
from coldset.files import DeleteFile, FileColumn, open_file, require_regular, with_id
from foundation.lru import LruCache

_MAGIC: Final = b"\xd1\xd3\x39\x64"
_FRAME_BYTES: Final = 12  # length, magic, checksum
_KEPT_BYTES: Final = 64 << 20


def _size_bytes(found: dict[str, BitMap64]) -> int:
    # A bitmap of scattered rows takes about two bytes for each.
    return 256 * len(found) + 2 * sum(len(rows) for rows in found.values())


_kept: Final[LruCache[tuple[str, int | None], dict[str, BitMap64]]] = LruCache(_KEPT_BYTES, _size_bytes)


def deleted_positions(path: str, deletes: Sequence[DeleteFile], io: FileIO) -> BitMap64:
    """Return the rows of a data file that files of position deletes, or a vector, hide.

    Raises:
        ValueError: A file is not what the manifest says.
        OSError, pa.ArrowException: A file is missing or broken.
        UnsupportedTableError: A file's format is not read here.
    """
    found = BitMap64()
    for delete in deletes:
        if delete.keys:
            continue
        key = (delete.path, delete.start)
        by_path = _kept.get(key)
        if by_path is None:
            by_path = {path: _read_vector(delete, io)} if delete.is_vector else _read_pairs(delete, io)
            _kept.put(key, by_path)
        found |= by_path.get(path, BitMap64())
    return found


def _read_pairs(delete: DeleteFile, io: FileIO) -> dict[str, BitMap64]:
    found: dict[str, BitMap64] = {}
    with open_file(io, delete.path, delete.file_format, None) as opened:
        paths, rows = (_place(opened.columns, each) for each in (DELETED_PATH, DELETED_POSITION))
        for _, batch in opened.batches((DELETED_PATH, DELETED_POSITION)):
            names = batch.column(paths).cast(pa.string()).dictionary_encode()
            for number, name in enumerate(names.dictionary.to_pylist()):
                mine = batch.column(rows).filter(pc.equal(names.indices, number))
                found.setdefault(name, BitMap64()).update(_bitmap(mine))
    return found


def _place(columns: tuple[FileColumn, ...], field_id: int) -> str:
    found = with_id(columns, field_id)
    if found is None:
        raise ValueError(f"it is no file of position deletes: it has no column with id {field_id}")
    return str(found[0])


def _bitmap(rows: pa.Array) -> BitMap64:
    if rows.null_count:
        raise ValueError("a deleted position is null")
    numbers = array("q", memoryview(rows.cast(pa.int64()).buffers()[1]).cast("q")[rows.offset :][: len(rows)])
    if len(numbers) and min(numbers) < 0:
        raise ValueError("a deleted position is negative")
    return BitMap64(array("Q", numbers))


def _read_vector(delete: DeleteFile, io: FileIO) -> BitMap64:
    assert delete.start is not None
    length = delete.length or 0
    require_regular(delete.path)
    with io.new_input(delete.path).open() as stream:
        stream.seek(delete.start)
        blob = stream.read(length)
    if len(blob) != length or length < _FRAME_BYTES:
        raise ValueError(f"its deletion vector has {len(blob)} bytes, where {length} were written")
    body, checksum = blob[4:-4], blob[-4:]
    is_whole = int.from_bytes(blob[:4], "big") == len(body) and body[:4] == _MAGIC
    if not is_whole or zlib.crc32(body) != int.from_bytes(checksum, "big"):
        raise ValueError("its deletion vector is damaged")
    found = BitMap64.deserialize(body[4:])
    if len(found) != delete.rows:
        raise ValueError(f"its deletion vector has {len(found)} rows, where {delete.rows} were deleted")
    return found
