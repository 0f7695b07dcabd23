"""What comes from outside is believed in nothing: tokens, table properties, recorded isolation.

Each of these once led, or could lead, to an answer that looks right and is not, or to code that
nobody chose to run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from coldset.table.catalog import pin
from federation.cut.cut import Cut
from federation.cut.take import take_cut
from federation.engine.run.answer import Limits
from federation.engine.run.query import run_query
from federation.errors import CutTokenError, IsolationMismatchError, QueryTimeoutError
from hotset.kafka.offsets import Isolation, OffsetRange
from pipeline.errors import FencedError
from pipeline.freeze import commit
from stack import KafkaBroker
from tests.builders import HANG_S, Lake, commit_until, make_topic, new_lake, produce, stage_rows, unique
from tests.clock import clock_of
from tests.conftest import MakeLake

pytestmark = pytest.mark.kafka


def filled(lake: MakeLake) -> Lake:
    made = lake()
    produce(made.bootstrap, made.topic, [{"producer": "p", "seq": i} for i in range(10)])
    commit_until(made, {0: 4})
    return made


def later(r: OffsetRange) -> OffsetRange:
    return replace(r, start=r.end)


FORGERIES: list[Callable[[Cut, str], Cut]] = [
    lambda cut, other: replace(cut, topic=other),
    lambda cut, _: replace(cut, isolation=Isolation.READ_UNCOMMITTED),
    lambda cut, _: replace(cut, ranges=tuple(later(r) for r in cut.ranges)),
    lambda cut, _: replace(cut, ranges=cut.ranges[1:]),
    lambda cut, _: replace(cut, schema_id=77),
    lambda cut, _: replace(cut, gaps=(OffsetRange(0, 4, 5),)),
]


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_forged_token_is_refused(lake: MakeLake, forge: Callable[[Cut, str], Cut]) -> None:
    made = filled(lake)
    other = make_topic(made.bootstrap, unique("secret"))
    token = forge(made.open().cut(), other).token()

    with pytest.raises(CutTokenError):
        made.open(cut=token).scan()


@pytest.mark.parametrize(
    "token", ["", "kic1.", "kic1.AAAA", "kic2.x", "kic1.eJyrVspLzE1VslJQKi1OLVKqBQAr8wUG"]
)
def test_what_is_no_token_is_said_to_be_none(token: str) -> None:
    with pytest.raises(CutTokenError):
        Cut.from_token(token)


def test_a_table_written_with_another_isolation_is_an_error(lake: MakeLake) -> None:
    made = lake()
    produce(made.bootstrap, made.topic, [{"producer": "p", "seq": 1}])
    commit_until(made.having(**{"kafka.isolation.level": "read_uncommitted"}))

    with pytest.raises(IsolationMismatchError, match="read_uncommitted"):
        made.open(**{"kafka.isolation.level": "read_committed"}).cut()


def test_a_freeze_is_fenced_by_a_new_partition_spec(lake: MakeLake) -> None:
    made = filled(lake)
    staged = stage_rows(take_cut(made.merged()))
    with made.load().update_spec() as spec:
        spec.add_identity("producer")

    with pytest.raises(FencedError, match="partition spec"):
        commit(staged)
    assert made.load().scan().count() == 4


def test_a_freeze_is_fenced_by_a_new_schema(lake: MakeLake) -> None:
    made = filled(lake)
    staged = stage_rows(take_cut(made.merged()))
    with made.load().update_schema() as schema:
        schema.rename_column("txn", "transaction")

    with pytest.raises(FencedError, match="schema"):
        commit(staged)


def test_a_table_property_cannot_choose_code_to_run(
    lake: MakeLake, capsys: pytest.CaptureFixture[str]
) -> None:
    made = lake(properties={"py-io-impl": "this.IsNotEvenImported"})

    pinned = pin(made.catalog, made.table)

    assert pinned.snapshot is None
    assert type(pinned.table.io).__name__ == "PyArrowFileIO"


def test_the_time_limit_reaches_a_read_that_waits_for_kafka(
    frail_broker: KafkaBroker, tmp_path: Path
) -> None:
    made = new_lake(frail_broker.bootstrap, tmp_path)
    produce(made.bootstrap, made.topic, [{"producer": "p", "seq": 0}])
    tables = {made.table: made.merged(planTimeoutMs="600000", readTimeoutMs="600000")}
    run_query(f"SELECT count(*) FROM {made.table}", tables)
    # Who waits for the read's own limits is given an answer after all.
    in_the_end = threading.Timer(HANG_S, frail_broker.resume)
    frail_broker.pause()
    in_the_end.start()
    try:
        with pytest.raises(Exception, match=r"1000 ms|no answer|stopped") as raised:
            run_query(f"SELECT count(*) FROM {made.table}", tables, Limits(timeout_ms=1000))
    finally:
        in_the_end.cancel()
        frail_broker.resume()

    assert getattr(raised.value, "retriable", False)


def test_the_time_limit_stops_a_hot_read(lake: MakeLake, monkeypatch: pytest.MonkeyPatch) -> None:
    made = filled(lake)
    clock = clock_of(monkeypatch, "federation.engine.run.clock")

    def endless(*args: object, guard: Callable[[], None], **kwargs: object) -> pa.RecordBatch:
        while True:
            guard()
            clock.jump(1)
            if False:
                yield

    monkeypatch.setattr("hotset.store.row_source.drain", endless)

    with pytest.raises(QueryTimeoutError):
        run_query(
            f"SELECT count(*) FROM {made.table}", {made.table: made.merged()}, Limits(timeout_ms=600_000)
        )


@pytest.mark.parametrize("value", ["uhugeint '1'", "time with time zone '10:00:00+02'", "bit '101'"])
def test_a_type_that_arrow_would_change_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="cast it to VARCHAR"):
        run_query(f"SELECT {value} AS v", {})


def test_a_result_of_a_refused_type_may_be_text() -> None:
    assert run_query("SELECT (bit '101')::VARCHAR AS v", {}).rows["v"].to_pylist() == ["101"]
