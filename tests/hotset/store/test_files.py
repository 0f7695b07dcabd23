"""Files of the store are whole, bounded and this user's own, whatever happens to processes and folders.

No Kafka here: what is written is small batches, and what is asked is which of them are there.
"""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pyarrow as pa
import pytest
from hotset.store.chunk_index import Chunk, cover, find_chunks
from hotset.store.file_names import BASE, RAW, ChunkName, new_chunk
from hotset.store.mapped_files import File, Maps, write_files
from hotset.store.offset_locks import close_own
from hotset.store.stored_columns import WantedColumns

from hotset.decode.formats import RecordFormat
from hotset.errors import HotStoreError
from hotset.kafka.offsets import OffsetRange
from hotset.store.chunk import Held, chunk_of, open_chunk, store_chunk
from hotset.store.hot_store import StoreSettings, open_store
from hotset.store.space import MAKING, Space
from tests.hotset.raw import raw_records

NONE = WantedColumns.of(RecordFormat(), pa.schema([]))


def a_space(folder: Path, limit: int = 1 << 20) -> Space:
    store = open_store(StoreSettings(str(folder / "store"), limit))
    assert store is not None
    return store.space


def keep(space: Space, start: int, count: int, *, used_s_ago: float = 0.0) -> Chunk | None:
    """Store a chunk of records without columns, last used some time ago."""
    held = Held.of(3, raw_records([b"x" * 100] * count, first=start))
    chunk = chunk_of(new_chunk(start, start + count, 0), space.root / "logs", held)
    if not store_chunk(space, chunk, held, ()):
        return None
    for path in (chunk.path(BASE), chunk.path(RAW)):
        os.utime(path, times=(time.time() - used_s_ago,) * 2)
    return chunk


def starts(space: Space) -> list[int]:
    return [chunk.name.start for chunk in find_chunks(space.root / "logs")]


def test_the_folder_is_closed_to_others(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o755)

    space = a_space(tmp_path)

    assert stat.S_IMODE(space.root.stat().st_mode) == 0o700


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_place_that_is_no_folder_of_ours_is_refused(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "store"
    if kind == "file":
        place.write_text("something else")
    else:
        place.symlink_to(tmp_path)

    with pytest.raises(HotStoreError, match="hotStorePath"):
        open_store(StoreSettings(str(place), 1 << 20))


def test_what_was_written_is_mapped_and_outlives_its_file(tmp_path: Path) -> None:
    space, maps = a_space(tmp_path), Maps()
    batch = pa.record_batch({"a": pa.array(range(1000))})
    path = space.root / "logs" / "one"
    assert write_files(space, [File(path, batch, {"said": 7})])
    allocated = pa.total_allocated_bytes()

    found = maps.get(path)
    path.unlink()

    assert found is not None
    assert found.batch == batch
    assert found.notes["said"] == 7
    assert pa.total_allocated_bytes() == allocated


@pytest.mark.parametrize("damage", ["shorter", "empty", "zeros", "another", "longer"])
def test_a_file_that_is_not_what_it_should_be_is_not_there(tmp_path: Path, damage: str) -> None:
    space = a_space(tmp_path)
    path, other = space.root / "logs" / "one", space.root / "logs" / "two"
    for each in (path, other):
        assert write_files(space, [File(each, pa.record_batch({"a": [1, 2, 3]}), {})])
    whole = path.read_bytes()
    damaged = {
        "shorter": whole[:-9],
        "empty": b"",
        "zeros": bytes(len(whole)),
        "another": other.read_bytes(),
        "longer": whole + b"more",
    }
    path.write_bytes(damaged[damage])

    assert Maps().get(path) is None
    assert not path.exists()


def test_the_limit_holds_and_the_least_recently_used_go_first(tmp_path: Path) -> None:
    space = a_space(tmp_path, limit=60_000)
    for number in range(20):
        assert keep(space, number * 100, 100, used_s_ago=1000 - number) is not None
        assert space.used_bytes() <= 60_000

    assert starts(space)[-1] == 1900
    assert starts(space) == sorted(starts(space))
    assert 0 not in starts(space)


def test_records_that_are_decoded_go_before_columns_and_bases(tmp_path: Path) -> None:
    space = a_space(tmp_path, limit=60_000)
    old = keep(space, 0, 100, used_s_ago=50)
    assert old is not None
    os.utime(old.path(BASE))
    while old.path(RAW).exists():
        assert keep(space, int(time.monotonic_ns()), 100, used_s_ago=20) is not None

    assert starts(space)[0] == 0


def test_chunks_in_use_are_not_evicted_and_then_there_is_no_room(tmp_path: Path) -> None:
    space = a_space(tmp_path, limit=30_000)
    used = keep(space, 0, 150, used_s_ago=99)
    assert used is not None
    held = Held.of(3, raw_records([b"x" * 100] * 200))

    chunk = chunk_of(new_chunk(500, 700, 0), space.root / "logs", held)

    assert not store_chunk(space, chunk, held, {str(used.name)})
    assert starts(space) == [0]
    assert space.used_bytes() <= 30_000


def test_more_than_the_whole_store_has_no_room(tmp_path: Path) -> None:
    space = a_space(tmp_path, limit=10_000)
    assert keep(space, 0, 10) is not None

    assert keep(space, 100, 1000) is None
    assert starts(space) == [0]


def test_what_a_process_was_writing_is_removed_once_it_is_gone(tmp_path: Path) -> None:
    space = a_space(tmp_path)
    made = space.reserve([10, 10], ())
    assert made is not None
    running, gone = made
    close_own(gone[1])
    for path, _ in (running, gone):
        os.utime(path, times=(1, 1))

    space.remove_abandoned()

    assert [path.name for path in (space.root / MAKING).iterdir()] == [running[0].name]
    close_own(running[1])


def test_a_chunk_without_its_base_is_none(tmp_path: Path) -> None:
    space = a_space(tmp_path)
    chunk = keep(space, 0, 10)
    assert chunk is not None
    chunk.path(BASE).unlink()

    assert find_chunks(space.root / "logs") == []
    assert open_chunk(Maps(), chunk, 3, NONE, ()) is None


def test_chunks_cover_a_range_once_however_they_overlap() -> None:
    chunks = [
        Chunk(ChunkName(start, end, 0, "0" * 16), Path(), has_raw=True, columns=())
        for start, end in [(0, 10), (5, 30), (8, 12), (40, 50), (45, 60), (70, 80)]
    ]

    segments, gaps = cover(chunks, OffsetRange(0, 3, 75))

    assert [(each.start, each.end) for each in segments] == [(3, 10), (10, 30), (40, 50), (50, 60), (70, 75)]
    assert gaps == [OffsetRange(0, 30, 40), OffsetRange(0, 60, 70)]


@pytest.mark.parametrize("content", [b"\0" * 32, b"no number", b"  12 34"])
def test_a_counter_that_is_no_number_is_counted_anew(tmp_path: Path, content: bytes) -> None:
    space = a_space(tmp_path)
    keep(space, 0, 5)
    counter = space.root / "reserved"
    counter.write_bytes(content)

    assert keep(space, 5, 5) is not None

    assert starts(space) == [0, 5]
    assert int(counter.read_bytes()) >= space.used_bytes() - counter.stat().st_size
