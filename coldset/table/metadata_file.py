"""Read an Iceberg metadata file, and keep what was read.

A metadata file is never changed: each commit writes another one, with a UUID in
its name. So the file's content is known by its name, and parsing the same
thousands of snapshots for every statement would only cost time. What is kept is
bounded by size; a name without a UUID may be used again and is read each time.
The file must not know which catalog named the location.
"""

from __future__ import annotations

import re
from io import BytesIO
from typing import Final

from pyiceberg.io import FileIO
from pyiceberg.serializers import Compressor, FromByteStream
from pyiceberg.table.metadata import TableMetadata

from foundation.lru import LruCache

_KEPT_BYTES: Final = 16 * 1024 * 1024
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[^/]*$", re.IGNORECASE)

# With the size of the file that each was read from, or more, so that their number is bounded too.
_kept: Final = LruCache[str, tuple[TableMetadata, int]](_KEPT_BYTES, lambda kept: max(kept[1], 1 << 16))


def read_metadata(io: FileIO, location: str) -> TableMetadata:
    """Return the content of a metadata file, which must not be changed in place.

    Args:
        io: Opens the file.
        location: Where it is.

    Raises:
        Exception: Whatever the storage or pyiceberg raises for a file that cannot be read.
    """
    known = _kept.get(location)
    if known is not None:
        return known[0]
    with io.new_input(location).open() as stream:
        text = stream.read()
    compression = Compressor.get_compressor(location=location)
    metadata = FromByteStream.table_metadata(BytesIO(text), compression=compression)
    if _UUID.search(location):
        _kept.put(location, (metadata, len(text)))
    return metadata
