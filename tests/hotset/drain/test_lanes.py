"""Reading ahead in threads: batches in their order, errors where they are taken, and nothing left behind.

Readers are made here, and say what was asked of them; `test_drain_ahead.py` tries lanes on a real broker.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Generator, Iterator

import pyarrow as pa
import pytest

from foundation.deadline import Deadline
from hotset.drain.reader_threads import Guard, Read, read_ahead

Made = Generator[pa.RecordBatch, None, None]


def go_on() -> None:
    """Has no objection."""


def lanes() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "hot-lane"]


def batch(number: int) -> pa.RecordBatch:
    return pa.record_batch({"number": [number]})


def number_of(found: pa.RecordBatch) -> int:
    number: int = found.column("number")[0].as_py()
    return number


def until(holds: Callable[[], bool]) -> None:
    deadline = Deadline.after_ms(20_000)
    while not holds():
        assert not deadline.has_passed
        time.sleep(0.005)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    gc.collect()
    assert lanes() == []


class Counting:
    """A reader that counts the batches it was asked for, and tells when it is closed."""

    def __init__(self, batches: int) -> None:
        self.asked = 0
        self.is_closed = False
        self._batches = batches

    def read(self, guard: Guard) -> Made:
        try:
            for number in range(self._batches):
                guard()
                self.asked += 1
                yield batch(number)
        finally:
            self.is_closed = True


def test_one_batch_is_read_while_another_is_used_and_no_more() -> None:
    reader = Counting(10)
    batches = read_ahead([reader.read], go_on)

    first = next(batches)
    until(lambda: reader.asked == 2)
    time.sleep(0.3)

    assert (number_of(first), reader.asked) == (0, 2)
    assert [number_of(found) for found in batches] == list(range(1, 10))
    assert reader.is_closed


def test_a_batch_that_was_taken_is_not_kept_by_its_lane() -> None:
    may_end = threading.Event()

    def read(_guard: Guard) -> Made:
        yield pa.record_batch({"number": pa.array(range(10_000))})
        may_end.wait(20)

    nothing = pa.total_allocated_bytes()
    batches = read_ahead([read], go_on)
    assert next(batches).num_rows == 10_000

    until(lambda: pa.total_allocated_bytes() == nothing)
    may_end.set()
    assert list(batches) == []


@pytest.mark.parametrize("takes_turns", [True, False])
def test_a_reader_in_the_interpreter_gives_turns_to_who_uses_a_batch_and_only_then(
    monkeypatch: pytest.MonkeyPatch,
    takes_turns: bool,
) -> None:
    given: list[int] = []
    reader = Counting(3)

    def sleep(_s: float) -> None:
        if threading.current_thread().name == "hot-lane":
            given.append(reader.asked)

    monkeypatch.setattr("hotset.drain.reader_threads.time.sleep", sleep)
    batches = read_ahead([reader.read], go_on, takes_turns=takes_turns)

    next(batches)
    until(lambda: reader.asked == 2)
    list(batches)

    # The first batch was read while nobody had one.
    assert set(given) <= {1, 2}
    assert (1 in given) == takes_turns


def test_lanes_do_not_wait_for_each_other() -> None:
    may_end = threading.Event()

    def slow(_guard: Guard) -> Made:
        may_end.wait(20)
        yield batch(99)

    batches = read_ahead([slow, Counting(5).read], go_on)

    assert [number_of(next(batches)) for _ in range(5)] == list(range(5))
    may_end.set()
    assert [number_of(found) for found in batches] == [99]


def test_what_a_reader_raises_is_raised_here_and_ends_the_others() -> None:
    other = Counting(10)

    def failing(_guard: Guard) -> Made:
        yield batch(0)
        raise ValueError("it broke")

    with pytest.raises(ValueError, match="it broke"):
        list(read_ahead([failing, other.read], go_on))

    assert other.is_closed
    assert lanes() == []


def test_a_guard_is_asked_while_nothing_comes_and_while_much_comes() -> None:
    asked = 0

    def third_time() -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            raise InterruptedError

    def silent(guard: Guard) -> Made:
        while True:
            guard()
            time.sleep(0.001)
            if not guard:
                yield batch(0)

    reads: list[list[Read]] = [[silent], [Counting(1000).read]]
    for read in reads:
        asked = 0
        with pytest.raises(InterruptedError):
            list(read_ahead(read, third_time))


def test_an_iterator_that_is_dropped_ends_its_readers() -> None:
    reader = Counting(10)
    batches = read_ahead([reader.read], go_on)
    next(batches)

    del batches

    assert reader.is_closed
    assert lanes() == []
