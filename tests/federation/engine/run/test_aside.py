"""A statement ends in time although a file hangs, and what it leaves behind is counted.

A pipe that nobody writes to stands for a storage that does not answer: opening it does not end.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coldset.errors import ColdReadError
from coldset.plan.parquet_scan import ParquetScan
from federation.engine.run import statement_thread as aside
from federation.engine.run.answer import Limits
from federation.engine.run.clock import StatementClock
from federation.engine.run.query import run_query
from federation.engine.run.statement_thread import left_behind, run_aside
from federation.errors import EngineError, QueryCancelledError, QueryTimeoutError
from tests.federation.cold_table import Alone


@pytest.fixture
def hang(tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Opens a pipe, which ends with the test."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def open_it() -> str:
        with pipe.open(encoding="utf-8") as stream:
            return stream.read()

    yield open_it
    while left_behind():
        release(pipe)


def release(pipe: Path) -> None:
    # An error if nobody has it open now.
    with contextlib.suppress(OSError):
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    time.sleep(0.01)


def test_what_ends_in_time_is_handed_on() -> None:
    clock = StatementClock(60_000, lambda: False)

    assert run_aside(lambda: 7, clock) == 7
    with pytest.raises(ZeroDivisionError):
        run_aside(lambda: 1 // 0, clock)
    assert left_behind() == 0


def test_a_statement_that_hangs_is_left_behind_and_counted(
    hang: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "_GRACE_S", 0.1)
    monkeypatch.setattr(aside, "_MOST_LEFT", 2)

    with pytest.raises(QueryTimeoutError):
        run_aside(hang, StatementClock(100, lambda: False))
    with pytest.raises(QueryCancelledError):
        run_aside(hang, StatementClock(60_000, lambda: True))

    assert left_behind() == 2
    with pytest.raises(EngineError, match="no more may"):
        run_aside(lambda: 7, StatementClock(60_000, lambda: False))


def test_whoever_is_interrupted_leaves_a_statement_that_knows_it(hang: Callable[[], str]) -> None:
    class Interrupting(StatementClock):
        def require_going_on(self) -> None:
            raise KeyboardInterrupt

    clock = Interrupting(60_000, lambda: False)

    with pytest.raises(KeyboardInterrupt):
        run_aside(hang, clock)
    assert isinstance(clock.stopped_by, QueryCancelledError)


def test_a_file_that_hangs_in_the_engine_does_not_outlive_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "_GRACE_S", 0.1)
    table = Alone(tmp_path)
    table.append(1)
    table.scan()
    [file] = tmp_path.rglob("*.parquet")
    file.unlink()
    os.mkfifo(file)
    # A mount that hangs may well say that its files are regular ones.
    monkeypatch.setattr(ParquetScan, "require_unchanged", lambda _self: None)

    with pytest.raises(QueryTimeoutError):
        run_query(f"SELECT id FROM {table.name}", {table.name: table.options()}, Limits(timeout_ms=3000))

    while left_behind():
        release(file)
    assert left_behind() == 0


def test_a_pipe_in_the_place_of_a_file_is_an_error_and_is_not_opened(tmp_path: Path) -> None:
    table = Alone(tmp_path)
    table.append(1)
    [file] = tmp_path.rglob("*.parquet")
    file.unlink()
    os.mkfifo(file)

    with pytest.raises(ColdReadError, match="no regular file"):
        table.ask("SELECT id FROM {t}")


@pytest.mark.parametrize("is_planned", [False, True])
def test_a_file_replaced_by_another_table_s_is_never_read_by_an_old_footer(
    tmp_path: Path, is_planned: bool
) -> None:
    table, other = Alone(tmp_path / "a"), Alone(tmp_path / "b")
    table.append(*range(1000))
    other.append(1, 2, 3)
    if is_planned:
        assert table.ask("SELECT count(note) FROM {t}").values() == [[1000]]
    [mine], [theirs] = (list((tmp_path / name).rglob("*.parquet")) for name in "ab")
    mine.write_bytes(theirs.read_bytes())

    with pytest.raises(ColdReadError, match=mine.name):
        table.ask("SELECT count(note) FROM {t}")
    with pytest.raises(ColdReadError, match=mine.name):
        table.ask("SELECT count(note) FROM {t}")


def test_a_file_that_is_written_again_with_the_same_bytes_is_looked_at_anew(tmp_path: Path) -> None:
    table = Alone(tmp_path)
    table.append(1, 2)
    assert table.ask("SELECT sum(id) FROM {t}").values() == [[3]]
    [file] = tmp_path.rglob("*.parquet")
    restored = file.with_suffix(".restored")
    restored.write_bytes(file.read_bytes())
    restored.rename(file)

    with pytest.raises(ColdReadError, match="looked at anew"):
        table.ask("SELECT sum(id) FROM {t}")
    assert table.ask("SELECT sum(id) FROM {t}").values() == [[3]]
