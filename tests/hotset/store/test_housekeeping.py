"""What a store holds goes when nobody has use for it: after hours, or when the last gateway ends.

No broker is needed: chunks are files, and other processes hold a lock.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from federation.options.option_table import OPTIONS
from federation.warm import leave_stores
from hotset.kafka.offsets import OffsetRange
from hotset.store import store_folder as place
from hotset.store.chunk import Chunk
from hotset.store.hot_store import StoreSettings, clear_store, open_store
from hotset.store.housekeeping import EXPIRED_S, UNUSED_S, drop_expired, drop_other_incarnations
from hotset.store.leases import lease_chunks, leased_names
from hotset.store.log_folder import LogFolder
from hotset.store.space import Space
from tests.builders import wait_until
from tests.hotset.store.pieces import SCHEMA, piece

LIMIT = 1 << 24
USE = "import sys; from pathlib import Path; from hotset.store.presence import be_present, remove_if_alone; "


def add_chunk(space: Space, log: str, *, unused_s: float = 0.0) -> Chunk:
    folder = LogFolder(space, space.root / "logs" / log)
    chunk = folder.add(piece(OffsetRange(0, 0, 30)), SCHEMA)
    assert chunk is not None
    for each in (*(path for path in chunk.files if path.exists()), folder.path):
        os.utime(each, (time.time() - unused_s,) * 2)
    return chunk


def is_there(chunk: Chunk) -> bool:
    """Whether a chunk is there with all its files, or nothing of it is."""
    found = {path.exists() for path in chunk.files[:2]}
    assert len(found) == 1
    return found.pop()


def settings_of(folder: Path) -> StoreSettings:
    return StoreSettings(str(folder), LIMIT)


def space_of(settings: StoreSettings) -> Space:
    store = open_store(settings)
    assert store is not None
    return store.space


def test_chunks_that_nobody_has_used_for_hours_go(tmp_path: Path) -> None:
    space = space_of(settings_of(tmp_path))
    old = add_chunk(space, "old", unused_s=EXPIRED_S + 60)
    beside = add_chunk(space, "used", unused_s=EXPIRED_S + 60)
    used = add_chunk(space, "used")

    drop_expired(space.root)

    assert not old.path.parent.exists()
    assert is_there(used)
    assert not is_there(beside)


def test_files_of_a_chunk_that_never_came_go(tmp_path: Path) -> None:
    """Its rows come last, so a process that ends before leaves files that are nobody's."""
    space = space_of(settings_of(tmp_path))
    left = add_chunk(space, "log", unused_s=EXPIRED_S + 60)
    left.path.unlink()
    add_chunk(space, "log")

    drop_expired(space.root)

    assert not is_there(left)


@pytest.mark.parametrize("of_another", [False, True])
def test_what_is_under_a_lease_stays_until_the_lease_ends(tmp_path: Path, of_another: bool) -> None:
    space = space_of(settings_of(tmp_path))
    old = add_chunk(space, "topic.1", unused_s=EXPIRED_S + 60)
    others = [old.path.stem, "a-chunk-that-went"]
    lease_chunks(space.root, others[1:], 600)
    lease_chunks(space.root, others, 0.2)

    def drop() -> None:
        if of_another:
            drop_other_incarnations(space.root / "logs" / "topic.2", "topic")
        else:
            drop_expired(space.root)

    drop()
    assert is_there(old)
    assert leased_names(space.root) == set(others)

    wait_until(lambda: leased_names(space.root) == {others[1]}, "the lease to end")
    drop()
    assert not is_there(old)
    assert len(list((space.root / "leases").iterdir())) == 1


def test_other_incarnations_of_a_topic_go_once_nobody_reads_them(tmp_path: Path) -> None:
    space = space_of(settings_of(tmp_path))
    now, read, unread = (add_chunk(space, f"topic.{n}") for n in range(3))
    other = add_chunk(space, "topics.2", unused_s=UNUSED_S + 60)
    for path in unread.files[:2]:
        os.utime(path, (1, 1))

    drop_other_incarnations(now.path.parent, "topic")

    assert [is_there(each) for each in (now, read, unread, other)] == [True, True, False, True]
    assert not unread.path.parent.exists()


def test_a_folder_that_was_just_made_is_left_to_whoever_made_it(tmp_path: Path) -> None:
    space = space_of(settings_of(tmp_path))
    (space.root / "logs" / "new").mkdir(parents=True)

    drop_expired(space.root)

    assert (space.root / "logs" / "new").is_dir()


def test_the_last_process_can_remove_everything_and_begin_anew(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    chunk = add_chunk(space_of(settings), "log")

    assert clear_store(settings)
    assert not is_there(chunk)
    assert space_of(settings).used_bytes() == 0

    assert is_there(add_chunk(space_of(settings), "log"))


def test_what_another_process_uses_stays(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    chunk = add_chunk(space_of(settings), "log")
    with another_user(tmp_path) as other:
        assert not clear_store(settings)
        assert is_there(chunk)
        other.kill()

    assert clear_store(settings)
    assert not is_there(chunk)


def test_a_process_whose_threads_came_at_once_is_alone(tmp_path: Path) -> None:
    together = threading.Barrier(16)

    def come(_: int) -> Space:
        together.wait()
        return space_of(settings_of(tmp_path))

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(come, range(16)))

    assert all(each is found[0] for each in found)
    assert clear_store(settings_of(tmp_path))


def test_who_was_refused_to_clear_is_still_present(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    chunk = add_chunk(space_of(settings), "log")
    with another_user(tmp_path) as other:
        assert not clear_store(settings)
        other.kill()

    third = subprocess.run(
        [sys.executable, "-c", f"{USE}print(remove_if_alone(Path({str(tmp_path)!r})))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert third.stdout.strip() == "False"
    assert is_there(chunk)


@contextmanager
def another_user(root: Path) -> Iterator[subprocess.Popen[str]]:
    """Yield another process that uses the store, and will until it is killed."""
    code = f"{USE}be_present(Path({str(root)!r})); print(); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        yield other


def test_a_gateway_leaves_nothing_in_the_default_place_and_a_named_one_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "_SHARED", tmp_path)
    unnamed = {"hotStore": "on_demand"}
    named = {"hotStore": "warm", "hotStorePath": str(tmp_path / "named")}
    here = add_chunk(space_of(StoreSettings(None, OPTIONS.integer_of(unnamed, "hotStoreBytes"))), "log")
    there = add_chunk(space_of(settings_of(tmp_path / "named")), "log")

    leave_stores([unnamed, named, {"hotStore": "off"}])

    assert not is_there(here)
    assert is_there(there)
