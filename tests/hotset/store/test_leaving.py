"""What a store holds goes when nobody has use for it: after hours, or when the last gateway ends.

No broker is needed: chunks are files, and other processes hold a lock.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from federation.options.options import OPTIONS
from federation.warm import leave_stores
from hotset.store import store_folder as place
from hotset.store.chunk_index import find_chunks
from hotset.store.file_names import BASE, new_chunk
from hotset.store.hot_store import StoreSettings, clear_store, open_store
from hotset.store.housekeeping import EXPIRED_S, drop_expired
from hotset.store.mapped_files import File, write_files
from hotset.store.space import Space

LIMIT = 1 << 24
USE = "import sys; from pathlib import Path; from hotset.store.presence import be_present, remove_if_alone; "


def add_chunk(space: Space, log: str, *, unused_s: float = 0.0) -> Path:
    path = space.root / "logs" / log / "0" / f"{new_chunk(0, 3, 0)}.{BASE}"
    assert write_files(space, [File(path, pa.record_batch({"offset": [0, 1, 2]}), {})])
    for each in (path, path.parent, path.parent.parent):
        os.utime(each, (time.time() - unused_s,) * 2)
    return path


def settings_of(folder: Path) -> StoreSettings:
    return StoreSettings(str(folder), LIMIT)


def space_of(settings: StoreSettings) -> Space:
    store = open_store(settings)
    assert store is not None
    return store.space


def test_chunks_that_nobody_has_used_for_hours_go(tmp_path: Path) -> None:
    space = space_of(settings_of(tmp_path))
    old = add_chunk(space, "old", unused_s=EXPIRED_S + 60)
    used = add_chunk(space, "used")
    beside = add_chunk(space, "used", unused_s=EXPIRED_S + 60)

    drop_expired(space.root)

    assert not old.parent.parent.exists()
    assert [chunk.path(BASE) for chunk in find_chunks(used.parent)] == [used]
    assert not beside.exists()


def test_a_folder_that_was_just_made_is_left_to_whoever_made_it(tmp_path: Path) -> None:
    space = space_of(settings_of(tmp_path))
    (space.root / "logs" / "new" / "0").mkdir(parents=True)

    drop_expired(space.root)

    assert (space.root / "logs" / "new" / "0").is_dir()


def test_the_last_process_can_remove_everything_and_begin_anew(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    path = add_chunk(space_of(settings), "log")

    assert clear_store(settings)
    assert not path.exists()
    assert space_of(settings).used_bytes() == 0

    assert add_chunk(space_of(settings), "log").exists()


def test_what_another_process_uses_stays(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    path = add_chunk(space_of(settings), "log")
    with another_user(tmp_path) as other:
        assert not clear_store(settings)
        assert path.exists()
        other.kill()

    assert clear_store(settings)
    assert not path.exists()


def test_who_was_refused_to_clear_is_still_present(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    path = add_chunk(space_of(settings), "log")
    with another_user(tmp_path) as other:
        assert not clear_store(settings)
        other.kill()

    third = subprocess.run(
        [sys.executable, "-c", f"{USE}print(remove_if_alone(Path({str(tmp_path)!r})))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert third.stdout.strip() == "False"
    assert path.exists()


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

    assert not here.exists()
    assert there.exists()
