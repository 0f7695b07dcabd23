"""When the records of a chunk were written, noted with its base, so that chunks of other times stay unread.

The file must not know why some times are asked for and others are not.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from hotset.store.chunk_index import Chunk
from hotset.store.file_names import BASE
from hotset.store.mapped_files import Maps

_TIMES: Final = "times_ms"


def times_note(base: pa.RecordBatch) -> dict[str, Any]:
    """Return the first and the last timestamp in a base, as its file notes them; None without records."""
    found = pc.min_max(base.column("timestamp_ms"))
    return {_TIMES: [found["min"].as_py(), found["max"].as_py()]}


def may_be_within(maps: Maps, chunk: Chunk, times_ms: tuple[int | None, int | None]) -> bool:
    """Return whether a chunk may have a record whose timestamp is one of these.

    Args:
        maps: What is mapped already.
        chunk: The chunk.
        times_ms: The first and the last timestamp; None is no limit.
    """
    # A base that is not there is found out by whoever opens the chunk.
    base = None if times_ms == (None, None) else maps.get(chunk.path(BASE))
    if base is None:
        return True
    (low, high), (first, last) = times_ms, base.notes[_TIMES]
    if first is None:
        return False
    return (low is None or low <= last) and (high is None or first <= high)
