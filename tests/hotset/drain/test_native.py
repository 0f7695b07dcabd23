"""Whether records are read natively, who says so, and that misuse of the reader is an error and no crash.

Hardly a broker is needed: a reader connects to nothing before it is assigned.
"""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from hotset.native.availability import PURE, native_available
from stack import KafkaBroker
from tests.builders import make_topic, produce, unique, wait_until
from tests.rules.sources import ROOT

if not native_available().is_available:
    pytest.skip("nothing is read natively here", allow_module_level=True)

from hotset.native import _reader

SETTINGS = {"bootstrap.servers": "127.0.0.1:9", "group.id": "none"}
RANGE = (0, 0, 10, -1)


@pytest.fixture
def reader() -> _reader.Reader:
    return _reader.Reader(SETTINGS, has_keys=True, has_headers=True)


def test_the_pure_way_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert native_available().is_available

    monkeypatch.setenv(PURE, "1")

    assert not native_available().is_available
    assert PURE in native_available().reason


@pytest.mark.parametrize(("pure", "way"), [("", "natively: librdkafka 2"), ("1", "in Python: ")])
def test_the_command_line_says_which_way_it_is(pure: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PURE, pure)

    done = subprocess.run(
        [sys.executable, "-m", "kafkaiceberg", "--version"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert f"records taken {way}" in done.stdout


def test_a_property_that_is_refused_is_named() -> None:
    with pytest.raises(ValueError, match=r"check\.crcs"):
        _reader.Reader({**SETTINGS, "check.crcs": "maybe"}, has_keys=False, has_headers=False)


@pytest.mark.parametrize("settings", [{"a": 1}, {1: "a"}, {"client.id": "a\0b"}, {"client.id": "\udc80"}])
def test_a_setting_that_is_no_text_is_an_error(settings: dict[str, str]) -> None:
    with pytest.raises((TypeError, ValueError)):
        _reader.Reader(settings, has_keys=False, has_headers=False)


@pytest.mark.parametrize(
    "ranges",
    [[(1, 0, 1, -1), (0, 0, 1, -1)], [RANGE, RANGE], [(0, 0)], [("a", 0, 1, -1)], [(2**40, 0, 1, 0)], [0]],
)
def test_ranges_that_are_none_are_an_error(
    reader: _reader.Reader, ranges: list[tuple[int, int, int, int]]
) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        reader.assign("t", ranges)

    assert reader.assign("t", [RANGE]) == 0


def test_a_reader_is_assigned_again_only_after_it_was_unassigned(reader: _reader.Reader) -> None:
    assert reader.unassign() == 0
    assert reader.assign("t", [RANGE]) == 0
    with pytest.raises(RuntimeError, match="is assigned"):
        reader.assign("t", [RANGE])

    assert reader.unassign() == 0
    assert reader.next_offsets() == reader.positions() == []
    assert reader.assign("u", [(3, 5, 9, -1)]) == 0
    assert reader.next_offsets() == [(3, 5)]


@pytest.mark.parametrize("limits", [(0, 1, 1), (1, 0, 1), (1, 2**31, 1), (1, 1, -1)])
def test_limits_that_are_none_are_an_error(reader: _reader.Reader, limits: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="limits"):
        reader.take(*limits)


def test_a_reader_without_ranges_has_nothing(reader: _reader.Reader) -> None:
    assert reader.next_offsets() == reader.positions() == []
    assert reader.take(1, 1, 1) == _reader.WAITED
    assert (reader.rows, reader.hand_out()[0]) == (0, 0)
    reader.leave(0)
    reader.pass_over(0, 1)


def test_a_broker_that_is_not_there_is_noticed(reader: _reader.Reader) -> None:
    reader.assign("t", [RANGE])
    seen: list[tuple[int, str]] = []
    for _ in range(500):
        assert reader.take(1, 1, 20) == _reader.WAITED
        seen += reader.troubles()
        if seen:
            break

    assert "127.0.0.1:9" in seen[0][1]
    assert reader.troubles() == []


def test_a_closed_reader_says_so(reader: _reader.Reader) -> None:
    reader.close()
    reader.close()

    calls = (lambda: reader.take(1, 1, 1), reader.positions, reader.hand_out, reader.unassign)
    for call in (*calls, lambda: reader.leave(0)):
        with pytest.raises(RuntimeError, match="closed"):
            call()
    assert reader.next_offsets() == []


@pytest.mark.kafka
def test_a_reader_is_used_by_one_thread_at_a_time(broker: KafkaBroker) -> None:
    topic = make_topic(broker.bootstrap, unique("waited"), partitions=1)
    reader = _reader.Reader(
        {"bootstrap.servers": broker.bootstrap, "group.id": "none"}, has_keys=False, has_headers=False
    )
    reader.assign(topic, [RANGE])
    # It waits until there is a record.
    waiting = threading.Thread(target=reader.take, args=(1, 1, 600_000))
    waiting.start()

    def is_used() -> bool:
        try:
            reader.positions()
        except RuntimeError:
            return True
        return False

    wait_until(is_used, "the other thread to wait in the reader")
    for call in (lambda: reader.take(1, 1, 0), reader.positions, reader.hand_out, reader.close):
        with pytest.raises(RuntimeError, match="another thread"):
            call()
    produce(broker.bootstrap, topic, [b"v"])
    waiting.join()
    reader.close()
