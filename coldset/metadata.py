"""Read an Iceberg metadata file, and keep what was read.

A metadata file is never changed: each commit writes another one, with a UUID in
its name. So the file's content is known by its name, and parsing the same
thousands of snapshots for every statement would only cost time. What is kept is
bounded by size; a name without a UUID may be used again and is read each time.
The file must not know which catalog named the location.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from io import BytesIO
from typing import Final

from pyiceberg.io import FileIO
from pyiceberg.serializers import Compressor, FromByteStream
from pyiceberg.table.metadata import TableMetadata

_KEPT_BYTES: Final = 16 * 1024 * 1024
_KEPT_FILES: Final = 256
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[^/]*$", re.IGNORECASE)

_lock: Final = threading.Lock()
_kept: Final[OrderedDict[str, tuple[TableMetadata, int]]] = OrderedDict()


def read_metadata(io: FileIO, location: str) -> TableMetadata:
    """Return the content of a metadata file, which must not be changed in place.

    Args:
        io: Opens the file.
        location: Where it is.

    Raises:
        Exception: Whatever the storage or pyiceberg raises for a file that cannot be read.
    """
    with _lock:
        found = _kept.get(location)
        if found is not None:
            _kept.move_to_end(location)
            return found[0]
    with io.new_input(location).open() as stream:
        text = stream.read()
    compression = Compressor.get_compressor(location=location)
    metadata = FromByteStream.table_metadata(BytesIO(text), compression=compression)
    if _UUID.search(location):
        _keep(location, metadata, len(text))
    return metadata


def _keep(location: str, metadata: TableMetadata, size_bytes: int) -> None:
    with _lock:
        _kept[location] = (metadata, size_bytes)
        # The newest stays, however large it is: it is what the next statement asks for.
        while len(_kept) > 1 and (len(_kept) > _KEPT_FILES or _size_bytes() > _KEPT_BYTES):
            _kept.popitem(last=False)


def _size_bytes() -> int:
    return sum(size for _, size in _kept.values())
