"""Small neighbours become one chunk, and what is large already stays as it is, whichever part of it is left.

No Kafka here: chunks are made of a few records, and what is asked is how many there are after a chore.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pytest

from hotset.kafka.offsets import Isolation
from hotset.store import housekeeping as keeping
from hotset.store.chunk import Held, chunk_of, store_chunk
from hotset.store.chunk_index import find_chunks
from hotset.store.file_names import LogName, new_chunk
from hotset.store.hot_store import StoreSettings, open_store
from hotset.store.housekeeping import Chore
from hotset.store.stored_columns import Column
from tests.hotset.raw import raw_records

LOG = LogName("cluster", "topic", "id", Isolation.READ_COMMITTED)
NUMBERS = itertools.count()
ROWS, CHUNKS = 10, 8


def distinct(size: int) -> pa.Array:
    return pa.array([f"{next(NUMBERS):0{size}d}" for _ in range(ROWS)])


@pytest.mark.parametrize(("size", "left"), [(10, 1), (2000, CHUNKS)])
def test_chunks_of_which_only_columns_are_left_are_joined_if_these_are_small(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, left: int
) -> None:
    monkeypatch.setattr(keeping, "CHUNK_BYTES", 8192)
    store = open_store(StoreSettings(str(tmp_path / "store"), 1 << 24))
    assert store is not None
    folder = store.folder(LOG, 0)
    for start in range(0, ROWS * CHUNKS, ROWS):
        held = Held.of(0, raw_records([b"x"] * ROWS, first=start))
        held.raw, held.columns = None, {"a": Column(distinct(size), ())}
        assert store_chunk(store.space, chunk_of(new_chunk(start, start + ROWS, 0), folder, held), held, ())

    store.keeper.note(Chore(LOG, folder, 0, 0), is_new=True)

    assert store.settle()
    assert len(find_chunks(folder)) == left
