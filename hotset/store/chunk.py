"""The content of one chunk: where its records were, their bytes, and columns that were decoded of them.

The three are files of their own. Bytes may be evicted before columns, because rows that are known to be
rows need them no more; a chunk is there as long as its base is. This file must not know Kafka, nor which
chunks are wanted.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

from hotset.decode import Decoded
from hotset.store.chunk_index import Chunk
from hotset.store.chunk_times import times_note
from hotset.store.file_names import BASE, RAW, ChunkName, new_columns
from hotset.store.mapped_files import File, Maps, write_files
from hotset.store.space import Space
from hotset.store.stored_columns import (
    Column,
    Decode,
    WantedColumns,
    decode_columns,
    pack_columns,
    unpack_columns,
)

_BASE: Final = ("offset", "timestamp_ms")
_ELSEWHERE: Final = frozenset({"partition", *_BASE})
# Columns that say the same of each record are made once, for so many of them.
_REPEATED: Final = 131_072
_TOGETHER_BYTES: Final = 1024 * 1024
_TOMBSTONES: Final = "tombstones"


class Piece(NamedTuple):
    """Some consecutive records of a partition, and what a decoder made of their values."""

    raw: pa.RecordBatch
    decoded: Decoded


@dataclass(slots=True)
class Held:
    """A chunk's content, in files or only in memory."""

    partition: int
    base: pa.RecordBatch = field(repr=False)
    tombstones: int
    raw: pa.RecordBatch | None = field(repr=False)
    columns: dict[str, Column] = field(repr=False)

    @classmethod
    def of(cls, partition: int, batch: pa.RecordBatch) -> Held:
        """Hold what a drain gave of one partition."""
        kept = [name for name in batch.schema.names if name not in _ELSEWHERE]
        return cls(partition, batch.select(_BASE), batch.column("value").null_count, batch.select(kept), {})

    @property
    def nbytes(self) -> int:
        """About how many bytes of memory it is."""
        raw_bytes = 0 if self.raw is None else self.raw.nbytes
        columns_bytes = sum(each.values.nbytes for each in self.columns.values())
        return int(self.base.nbytes + raw_bytes + columns_bytes)

    def piece(self, start: int, end: int, wanted: WantedColumns, decode: Decode) -> Piece:
        """Return the records of `[start, end)`; columns that are not held are decoded and not kept.

        Raises:
            HotsetError: What decoding needs could not be had.
        """
        offsets = self.base.column("offset")
        first = bisect.bisect_left(offsets, start, key=_number) if start else 0
        rows = bisect.bisect_left(offsets, end, key=_number) - first
        raw = self._raw(first, rows)
        if wanted.are_in(self.columns):
            return Piece(raw, wanted.combine(self.columns, first, rows))
        lacking = wanted.lacking(self.columns)
        here = {name: column.part(first, rows) for name, column in self.columns.items()}
        return Piece(raw, wanted.combine({**here, **decode_columns(decode, raw, lacking)}, 0, rows))

    def decode(self, decode: Decode, wanted: WantedColumns) -> dict[str, Column]:
        """Return those of the wanted columns that are not held, of all records.

        Raises:
            HotsetError: What decoding needs could not be had.
        """
        if wanted.are_in(self.columns):
            return {}
        return decode_columns(decode, self._raw(0, self.base.num_rows), wanted.lacking(self.columns))

    def _raw(self, first: int, rows: int) -> pa.RecordBatch:
        base = self.base.slice(first, rows)
        if self.raw is None:
            # All of them are rows, so nobody looks at their bytes; they only have to be there.
            rest = {"value": _nothing(rows)}
        else:
            part = self.raw.slice(first, rows)
            rest = dict(zip(part.schema.names, part.columns, strict=True))
        arrays = {
            "partition": _same(self.partition, rows),
            **dict(zip(_BASE, base.columns, strict=True)),
            **rest,
        }
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))


def open_chunk(
    maps: Maps, chunk: Chunk, partition: int, wanted: WantedColumns, extras: Collection[str]
) -> Held | None:
    """Return a chunk's content, or None if it is gone or is not enough to read these columns.

    Args:
        maps: What is mapped already.
        chunk: The chunk.
        partition: Whose it is.
        wanted: The columns.
        extras: What is wanted of each record beside what its value tells: `value`, `key`, `headers`,
            `timestamp_type`.
    """
    base = maps.get(chunk.path(BASE))
    if base is None:
        return None
    columns: dict[str, Column] = {}
    for kind in chunk.columns:
        mapped = maps.get(chunk.path(kind), is_used=False)
        if mapped is not None and any(name in wanted.names for name in mapped.batch.schema.names):
            maps.get(chunk.path(kind))
            columns.update(unpack_columns(mapped.batch, mapped.notes))
    held = Held(partition, base.batch, base.notes[_TOMBSTONES], None, columns)
    if wanted.are_in(columns) and not extras and not held.tombstones and wanted.are_clean(columns):
        return held
    raw = maps.get(chunk.path(RAW)) if chunk.has_raw else None
    if raw is None or not set(extras) <= set(raw.batch.schema.names):
        return None
    held.raw = raw.batch
    return held


def open_all(maps: Maps, chunk: Chunk, partition: int) -> Held | None:
    """Return all of a chunk's content without using it, or None if it is gone."""
    base = maps.get(chunk.path(BASE), is_used=False)
    raw = maps.get(chunk.path(RAW), is_used=False) if chunk.has_raw else None
    columns: dict[str, Column] = {}
    for kind in chunk.columns:
        mapped = maps.get(chunk.path(kind), is_used=False)
        if mapped is not None:
            columns.update(unpack_columns(mapped.batch, mapped.notes))
    if base is None:
        return None
    return Held(partition, base.batch, base.notes[_TOMBSTONES], None if raw is None else raw.batch, columns)


def chunk_of(name: ChunkName, folder: Path, held: Held) -> Chunk:
    """Return the chunk that some content will be, once it is stored."""
    return Chunk(name, folder, held.raw is not None, (new_columns(),) if held.columns else ())


def store_chunk(space: Space, chunk: Chunk, held: Held, keep: Collection[str]) -> bool:
    """Write a chunk whole or not at all, by writing its base last; return whether there was room."""
    files = _files_of(chunk, held)
    # Together they are cheaper, and take more memory.
    is_little = held.nbytes <= _TOGETHER_BYTES
    groups: Iterable[Sequence[File]] = [tuple(files)] if is_little else ((file,) for file in files)
    is_stored = all(write_files(space, group, keep) for group in groups)
    if not is_stored:
        remove_chunk(chunk)
    return is_stored


def _files_of(chunk: Chunk, held: Held) -> Iterator[File]:
    if held.raw is not None:
        yield File(chunk.path(RAW), held.raw, {})
    for kind in chunk.columns:
        yield File(chunk.path(kind), *pack_columns(held.columns))
    notes = {_TOMBSTONES: held.tombstones, **times_note(held.base)}
    yield File(chunk.path(BASE), held.base, notes)


def store_columns(
    space: Space, chunk: Chunk, kind: str, columns: Mapping[str, Column], keep: Collection[str]
) -> bool:
    """Add decoded columns to a chunk; return whether there was room."""
    return write_files(space, [File(chunk.path(kind), *pack_columns(columns))], keep)


def remove_chunk(chunk: Chunk) -> None:
    """Remove a chunk; who has its rows keeps them."""
    for path in chunk.paths():
        with contextlib.suppress(OSError):
            path.unlink()


def _same(partition: int, rows: int) -> pa.Array:
    if rows > _REPEATED:
        return pa.repeat(pa.scalar(partition, pa.int32()), rows)
    return _same_often(partition).slice(0, rows)


@functools.lru_cache(maxsize=256)
def _same_often(partition: int) -> pa.Array:
    return pa.repeat(pa.scalar(partition, pa.int32()), _REPEATED)


def _nothing(rows: int) -> pa.Array:
    if rows > _REPEATED:
        return pa.repeat(pa.scalar(b"", pa.binary()), rows)
    return _nothing_often().slice(0, rows)


@functools.lru_cache(maxsize=1)
def _nothing_often() -> pa.Array:
    return pa.repeat(pa.scalar(b"", pa.binary()), _REPEATED)


def _number(scalar: pa.Scalar) -> int:
    number: int = scalar.as_py()
    return number
