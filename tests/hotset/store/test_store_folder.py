"""Files of the store are whole, bounded and this user's own, whatever happens to processes and folders.

No Kafka here: what is written is small pieces of a log, and what is asked is which of them are there.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest

from hotset.errors import HotStoreError
from hotset.kafka.offsets import OffsetRange
from hotset.store.chunk import Chunk, encode_chunk
from hotset.store.file_locks import close_own
from hotset.store.hot_store import StoreSettings, open_store
from hotset.store.leases import lease_chunks
from hotset.store.log_folder import LogFolder
from hotset.store.space import MAKING, Space
from tests.hotset.store.pieces import SCHEMA, piece, places_of, told

CHUNK_BYTES = sum(content.size for content in encode_chunk(piece(OffsetRange(0, 0, 100)), SCHEMA).values())


def a_folder(folder: Path, limit: int = 1 << 20) -> LogFolder:
    store = open_store(StoreSettings(str(folder / "store"), limit))
    assert store is not None
    return LogFolder(store.space, store.folder / "a-log")


def keep(folder: LogFolder, start: int, count: int = 100, *, unused_s: float = 0.0) -> Chunk | None:
    """Store a piece of the log that nobody has read for some time."""
    chunk = folder.add(piece(OffsetRange(0, start, start + count)), SCHEMA)
    for path in chunk.files if chunk is not None else ():
        if path.exists():
            os.utime(path, times=(time.time() - unused_s,) * 2)
    return chunk


def starts(folder: LogFolder) -> list[int]:
    return sorted(r.start for chunk in folder.chunks() for r in chunk.info.ranges)


def test_the_folder_is_closed_to_others(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o755)

    folder = a_folder(tmp_path)
    keep(folder, 0)

    assert stat.S_IMODE(folder.space.root.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.path.iterdir()} == {0o600}


@pytest.mark.parametrize("kind", ["file", "link"])
def test_a_place_that_is_no_folder_of_ours_is_refused(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "store"
    if kind == "file":
        place.write_text("something else")
    else:
        place.symlink_to(tmp_path)

    with pytest.raises(HotStoreError, match="hotStorePath"):
        open_store(StoreSettings(str(place), 1 << 20))


def test_what_was_written_is_read_as_it_was(tmp_path: Path) -> None:
    folder = a_folder(tmp_path)
    written = piece(OffsetRange(0, 0, 40), OffsetRange(3, 7, 90), epoch=5)

    made = folder.add(written, SCHEMA)
    [found] = folder.chunks()

    assert made == found
    assert (found.info.ranges, found.info.epochs) == (written.ranges, (5, 5))
    assert found.info.counts == written.counts
    assert places_of([found.read()]) == told(written.ranges)
    assert found.info.size_bytes >= written.rows.num_rows * 20


def test_a_chunk_is_sorted_by_places_whatever_order_its_rows_came_in(tmp_path: Path) -> None:
    folder = a_folder(tmp_path)
    written = piece(OffsetRange(2, 0, 40), OffsetRange(0, 7, 90))

    made = folder.add(written, SCHEMA)

    assert made is not None
    rows = made.read().rows
    places = list(zip(rows["$partition"].to_pylist(), rows["$offset"].to_pylist(), strict=True))
    assert places == sorted(places)


def test_rows_that_somebody_has_begun_to_read_outlive_their_file(tmp_path: Path) -> None:
    folder = a_folder(tmp_path)
    chunk = keep(folder, 0)
    assert chunk is not None
    whole, part = (chunk.batches_within([OffsetRange(0, 0, end)], ["seq"]) for end in (100, 30))

    folder.remove(chunk)

    assert folder.chunks() == []
    assert list(folder.path.iterdir()) == []
    for batches, end in ((whole, 100), (part, 30)):
        found = [seq for batch in batches for seq in batch.column("seq").to_pylist()]
        assert found == [p.what for p in told([OffsetRange(0, 0, end)]) if isinstance(p.what, int)]


def test_what_lies_within_a_chunk_is_counted_as_a_reading_of_it_counts(tmp_path: Path) -> None:
    chunk = keep(a_folder(tmp_path), 0)
    assert chunk is not None

    for start, end in [(0, 100), (0, 50), (17, 18), (40, 200), (100, 200)]:
        wanted = OffsetRange(0, start, end)
        assert chunk.counts_within([wanted]) == piece(OffsetRange(0, min(start, 100), min(end, 100))).counts


@pytest.mark.parametrize("damage", ["shorter", "empty", "zeros", "another file"])
def test_a_file_that_is_no_chunk_is_none(tmp_path: Path, damage: str) -> None:
    folder = a_folder(tmp_path)
    folder.space.write({folder.path / "0-other.txt": pa.py_buffer(b"note")})
    path, whole = folder.path / "0-damaged.parquet", encode_chunk(piece(OffsetRange(0, 0, 9)), SCHEMA)
    content = whole[".parquet"].to_pybytes()
    damaged = {"shorter": content[:-9], "empty": b"", "zeros": bytes(len(content)), "another file": b"note"}
    path.write_bytes(damaged[damage])

    assert folder.chunks() == []
    assert keep(folder, 0) is not None
    assert starts(folder) == [0]


def test_the_limit_holds_and_the_least_recently_used_go_first(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, limit=8 * CHUNK_BYTES)
    for number in range(20):
        assert keep(folder, number * 100, unused_s=1000 - number) is not None
        assert folder.space.used_bytes() <= 8 * CHUNK_BYTES

    found = starts(folder)
    assert len(found) >= 4
    assert found == [number * 100 for number in range(20 - len(found), 20)]


def test_a_chunk_goes_with_all_its_files(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, limit=4 * CHUNK_BYTES)
    for number in range(9):
        keep(folder, number * 100, unused_s=1000 - number)

    stems = {path.stem for path in folder.path.iterdir()}
    assert stems == {chunk.path.stem for chunk in folder.chunks()}


@pytest.mark.parametrize("reason", ["used", "leased"])
def test_chunks_in_use_are_not_evicted_and_then_there_is_no_room(tmp_path: Path, reason: str) -> None:
    folder = a_folder(tmp_path, limit=2 * CHUNK_BYTES)
    kept = keep(folder, 0, unused_s=0 if reason == "used" else 1000)
    assert kept is not None
    if reason == "leased":
        lease_chunks(folder.space.root, [kept.path.stem], 60)

    assert keep(folder, 500) is None

    assert starts(folder) == [0]
    os.utime(kept.path, times=(1, 1))
    if reason == "used":
        assert keep(folder, 500) is not None
        assert starts(folder) == [500]


def test_more_than_the_whole_store_has_no_room(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, limit=2 * CHUNK_BYTES)
    assert keep(folder, 0, 10, unused_s=1000) is not None

    assert keep(folder, 100, 1000) is None
    assert starts(folder) == [0]


def test_bytes_that_are_about_to_be_written_count(tmp_path: Path) -> None:
    """Who counts anew while others write sees what they will have written."""
    space = a_folder(tmp_path, limit=100_000).space
    made = space._reserve([40_000, 20_000])
    assert made is not None
    (space.root / "reserved").write_bytes(b"no number")

    assert not space.write({space.root / "logs" / "one": pa.py_buffer(bytes(50_000))})
    assert space.write({space.root / "logs" / "two": pa.py_buffer(bytes(30_000))})

    for _, file in made:
        close_own(file)


def test_many_who_write_at_once_keep_to_the_limit(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, limit=6 * CHUNK_BYTES)
    seen: list[int] = []

    def write(first: int) -> None:
        for number in range(first, first + 10):
            keep(folder, number * 100, unused_s=1000)
            seen.append(folder.space.used_bytes())

    threads = [threading.Thread(target=write, args=(100 * n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(seen) == 60
    assert max(seen) <= 6 * CHUNK_BYTES
    assert list((folder.space.root / MAKING).iterdir()) == []
    for chunk in folder.chunks():
        assert places_of([chunk.read()]) == told(chunk.info.ranges)


def test_what_a_process_was_writing_is_removed_once_it_is_gone(tmp_path: Path) -> None:
    space = a_folder(tmp_path).space
    made = space._reserve([10, 10])
    assert made is not None
    running, gone = made
    close_own(gone[1])
    for path, _ in (running, gone):
        os.utime(path, times=(1, 1))

    space.remove_abandoned()

    assert [path.name for path in (space.root / MAKING).iterdir()] == [running[0].name]
    close_own(running[1])


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    folder = a_folder(tmp_path)
    (folder.space.root / "logs").write_text("in the way")

    with pytest.raises(OSError, match="logs"):
        keep(folder, 0)

    assert list((folder.space.root / MAKING).iterdir()) == []


@pytest.mark.parametrize("content", [b"\0" * 32, b"no number", b"  12 34"])
def test_a_counter_that_is_no_number_is_counted_anew(tmp_path: Path, content: bytes) -> None:
    folder = a_folder(tmp_path)
    keep(folder, 0, 5)
    counter = folder.space.root / "reserved"
    counter.write_bytes(content)

    assert keep(folder, 5, 5) is not None

    assert starts(folder) == [0, 5]
    assert int(counter.read_bytes()) >= folder.space.used_bytes() - counter.stat().st_size


def test_a_folder_that_is_gone_is_made_anew(tmp_path: Path) -> None:
    folder = a_folder(tmp_path)
    keep(folder, 0)
    folder.space.root.rename(tmp_path / "elsewhere")
    assert folder.chunks() == []
    folder.space.root.mkdir()

    assert keep(folder, 100) is not None

    assert starts(folder) == [100]


def test_files_of_an_open_space_are_given_back(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, limit=3 * CHUNK_BYTES)
    before = len(os.listdir("/proc/self/fd"))

    for number in range(30):
        keep(folder, number * 100, 400 if number % 3 else 50)

    assert len(os.listdir("/proc/self/fd")) == before
    assert isinstance(folder.space, Space)
