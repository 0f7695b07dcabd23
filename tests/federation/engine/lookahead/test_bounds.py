"""Records that a statement cannot look at are not read, and nothing else is left out.

Bounds come from DuckDB's own plan, whose form is no stable interface: so answers with them are held
against answers without, and against what was fetched.
"""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from federation.engine.lookahead.conditions import condition_of, tree_of
from federation.engine.lookahead.offset_bounds import bounds_of
from federation.read.hot_bounds import Bounds, narrow
from hotset.errors import DecodeError
from hotset.kafka.offsets import OffsetRange
from tests.builders import Lake, commit_until, produce
from tests.conftest import MakeLake

COLUMNS = ("id", "p", "o", "t", "v")
EVENTS = pa.schema(
    [
        pa.field("n", pa.int64()),
        pa.field("v", pa.string()),
        pa.field("p", pa.int32()),
        pa.field("o", pa.int64()),
        pa.field("t", pa.timestamp("us", tz="UTC")),
    ]
)
COORDINATES = {"kafkaColumns": "partition=p,offset=o,timestamp=t"}
HOT = [OffsetRange(0, 10, 20), OffsetRange(1, 5, 8)]


def parse(text: str) -> Any:
    """The engine's own tree of a text."""
    [row] = duckdb.execute("SELECT json_serialize_sql(?)", [text]).fetchall()
    return tree_of(row[0])


def bounds(condition: str) -> Any:
    return bounds_of(condition_of(condition, {name: name for name in COLUMNS}, parse))


@pytest.mark.parametrize(
    ("condition", "limits"),
    [
        ("(o > 10)", {"o": (11, None)}),
        ("(o < -1)", {"o": (None, -2)}),
        ("(o = 10)", {"o": (10, 10)}),
        ("((o >= 5) AND (o <= 7) AND (p = 0))", {"o": (5, 7), "p": (0, 0)}),
        ("((o >= 5) AND ((v = 'a') OR (p = 1)))", {"o": (5, None)}),
        ("((id = 3) OR ((o >= 5) AND (o <= 7)))", {}),
        ("((o > 9223372036854775807) AND (p >= 0))", {"p": (0, None)}),
        ("(o < -9223372036854775808)", {}),
        ("(NOT (o = 3))", {}),
        ("(o != 3)", {}),
        ("(abs(o) = 3)", {}),
        ("(CAST(o AS DOUBLE) > 3.5)", {}),
        ("(o > 3.5)", {}),
        ("((o BETWEEN 5 AND 7) AND (p BETWEEN 0 AND 1))", {"o": (5, 7), "p": (0, 1)}),
        ("(NOT (o BETWEEN 5 AND 7))", {}),
        ("((o < 5) OR (o < 9))", {"o": (None, 8)}),
        ("((v = ') AND (o >= 9) AND (') AND (o < 3))", {"o": (None, 2)}),
        ("((v = 'it''s) AND (o = 9) AND (') AND (o < 3))", {"o": (None, 2)}),
        ("(t >= '1970-01-01 00:00:01.5+00'::TIMESTAMP WITH TIME ZONE)", {"t": (1_500_000, None)}),
        ("(t < '1970-01-01 00:00:01'::TIMESTAMP)", {"t": (None, 999_999)}),
        ("(t < 'infinity'::TIMESTAMP)", {}),
    ],
)
def test_only_what_is_understood_is_a_bound(condition: str, limits: dict[str, Any]) -> None:
    assert bounds(condition) == limits


@pytest.mark.parametrize(
    ("bounds", "left"),
    [
        ({}, [(0, 10, 20), (1, 5, 8)]),
        ({"p": Bounds(1, 1)}, [(1, 5, 8)]),
        ({"o": Bounds(7, 11)}, [(0, 10, 12), (1, 7, 8)]),
        ({"o": Bounds(20, None)}, []),
        ({"o": Bounds(9, 3)}, []),
        ({"id": Bounds(3, 3)}, [(0, 10, 20), (1, 5, 8)]),
    ],
)
def test_ranges_are_cut_by_places_only(bounds: dict[str, Bounds], left: list[tuple[int, int, int]]) -> None:
    found = narrow(HOT, {"p": "partition", "o": "offset"}, bounds)

    assert [(r.partition, r.start, r.end) for r in found] == left


@pytest.fixture
def made(lake: MakeLake) -> Lake:
    """Twenty rows cold; hot behind them a record that is no row, then forty that are."""
    found = lake(schema=EVENTS, partitions=1).having(**COORDINATES)
    produce(found.bootstrap, found.topic, [row(n) for n in range(20)])
    commit_until(found)
    produce(found.bootstrap, found.topic, [b"no row", *(row(n) for n in range(21, 61))])
    return found


def row(number: int) -> bytes:
    return json.dumps({"n": number, "v": f"it's {number}) AND (o > 50)"}).encode()


@pytest.mark.kafka
@pytest.mark.parametrize("store", ["off", "on_demand"])
def test_records_below_the_bound_are_neither_fetched_nor_decoded(
    made: Lake, store: str, tmp_path: Any
) -> None:
    kept = made.having(hotStore=store, **({"hotStorePath": str(tmp_path / "s")} if store != "off" else {}))

    answer = kept.sql(f"select n from {made.table} where o >= 50 and p = 0 order by n")

    assert answer.rows.column("n").to_pylist() == list(range(50, 61))
    assert answer.receipts[0].rows_hot == 11


@pytest.mark.kafka
@pytest.mark.parametrize(
    "where",
    [
        "o between 30 and 35",
        "o > 30 and v <> 'it''s 33) AND (o > 50)'",
        "o in (1, 25, 59)",
        "o >= 21 or n = 3",
        "p = 1",
        "o > 60",
        "t <= now()",
        "t > now() - interval 1 hour and o <> 20",
        "t >= timestamptz '2100-01-01 00:00:00Z'",
        "v = 'it''s 41) AND (o > 50)' and o > 20",
        "o > (select 40)",
        "not (o < 40)",
    ],
)
def test_answers_are_those_of_a_table_that_is_read_whole(made: Lake, where: str) -> None:
    skipping = made.having(badRecords="skip")
    sql = f"select n, o, t from {made.table} where {where} order by n"
    whole = f"select n, o, t from (select * from {made.table} offset 0) where {where} order by n"

    assert skipping.sql(sql).rows.to_pylist() == skipping.sql(whole).rows.to_pylist()


@pytest.mark.kafka
def test_a_table_that_is_scanned_twice_is_read_for_both(made: Lake) -> None:
    skipping = made.having(badRecords="skip")

    found = skipping.sql(
        f"select count(*) n from {made.table} a join {made.table} b on a.n = b.n - 10 "
        "where a.o < 35 and b.o > 40"
    )

    assert found.rows.to_pylist() == [{"n": 4}]


@pytest.mark.kafka
@pytest.mark.parametrize("store", ["off", "on_demand"])
@pytest.mark.parametrize("tail_rows", [1, 1000])
def test_records_of_other_times_are_judged_like_all_others(
    lake: MakeLake, monkeypatch: pytest.MonkeyPatch, store: str, tail_rows: int
) -> None:
    """Whether a record is a row is no matter of what a statement asks for, so a receipt counts them all."""
    monkeypatch.setattr("hotset.store.resident_log._TAIL_ROWS", tail_rows)
    made = lake(schema=EVENTS, partitions=1).having(**COORDINATES, hotStore=store)
    produce(made.bootstrap, made.topic, [*(row(n) for n in range(9)), b"no row"])
    time.sleep(0.02)
    middle = f"timestamptz '{datetime.now(UTC).isoformat()}'"
    time.sleep(0.02)
    produce(made.bootstrap, made.topic, [row(n) for n in range(10, 20)])

    for where, found in [("t >", range(10, 20)), ("t <=", range(9)), ("t > interval 1 hour +", range(0))]:
        sql = f"select n from {made.table} where {where} {middle} order by n"
        answer = made.sql(sql, badRecords="skip")
        assert answer.rows.column("n").to_pylist() == list(found)
        assert (answer.receipts[0].rows_hot, answer.receipts[0].records_bad) == (19, 1)
        with pytest.raises(DecodeError, match="offset 9"):
            made.sql(sql)
