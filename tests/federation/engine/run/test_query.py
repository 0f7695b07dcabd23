"""Statements over both halves: one cut per table, whole answers, errors as they were raised.

The rows are few; what is tested is which rows, how often, and what happens when
one of the halves fails in the middle of a scan.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from coldset.errors import ColdReadError
from federation.engine.run.answer import Limits
from federation.engine.run.instance import open_cursor
from federation.engine.run.query import run_query
from federation.errors import (
    OffsetGapError,
    QueryCancelledError,
    QueryTimeoutError,
    ResultTooLargeError,
    SqlError,
)
from hotset.errors import DecodeError, HotsetError
from stack import KafkaBroker
from tests.builders import Lake, commit_until, delete_records, make_table, new_lake, produce
from tests.conftest import MakeLake

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("note", pa.string())])

ENDLESS = "select count(*) from range(1000000000) a, range(1000000000) b"


def ids(first: int, end: int) -> list[dict[str, int]]:
    return [{"id": n} for n in range(first, end)]


@pytest.fixture(scope="module")
def half(lake: MakeLake) -> Lake:
    """Ids 0 to 5 in the table, 6 to 9 beyond it, on two partitions."""
    made = lake(schema=SCHEMA)
    produce(made.bootstrap, made.topic, ids(0, 6))
    commit_until(made)
    produce(made.bootstrap, made.topic, ids(6, 8), partition=0)
    produce(made.bootstrap, made.topic, ids(8, 10), partition=1)
    return made


@pytest.fixture
def broken(lake: MakeLake) -> Lake:
    made = lake(schema=SCHEMA, partitions=1)
    produce(made.bootstrap, made.topic, [*ids(0, 2), b'{"id": "x"}'])
    return made


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("select count(*), sum(id) from {t}", [(10, 45)]),
        ("select a.id from {t} a join {t} b on a.id = b.id + 7 order by 1", [(7,), (8,), (9,)]),
        ("with x as (select * from {t}) select count(*) from x a, x b", [(100,)]),
        ("with x as (select * from {t}) select (select count(*) from x), max(id) from x", [(10, 9)]),
        ("select count(*) from {t} where id in (select id + 5 from {t})", [(5,)]),
        ("select count(*) from (select * from {t} union all select * from {t})", [(20,)]),
        ("select count(*) from {t} a, {t} b, {t} c", [(1000,)]),
    ],
)
def test_a_table_named_twice_is_read_at_one_cut(half: Lake, sql: str, rows: list[tuple[int, ...]]) -> None:
    answer = half.sql(sql.format(t=half.table))

    assert [tuple(row.values()) for row in answer.rows.to_pylist()] == rows
    assert [receipt.table for receipt in answer.receipts] == [half.table]


@pytest.mark.kafka
def test_a_receipt_counts_each_half_once_however_often_it_is_scanned(half: Lake) -> None:
    answer = half.sql(f"select count(*) from {half.table} a, {half.table} b")

    [receipt] = answer.receipts
    assert (receipt.rows_cold, receipt.rows_hot) == (6, 4)
    assert receipt.newest_record_ms is not None
    told = {"plan", "offsets", "cold", "hot", "engine", "fetch", "decode", "store"}
    assert set(receipt.stages_ms) == told
    parts_ms = sum(receipt.stages_ms[stage] for stage in ("cold", "hot", "engine"))
    assert parts_ms == pytest.approx(answer.stages_ms["execute"])
    assert receipt.stages_ms["offsets"] < receipt.stages_ms["plan"] <= answer.stages_ms["plan"]


@pytest.mark.kafka
def test_federated_and_plain_tables_join(half: Lake) -> None:
    names = replace(half, table="lake.names")
    table = make_table(names.catalog, names.table, pa.schema([("id", pa.int64()), ("name", pa.string())]))
    table.append(pa.table({"id": [1, 8], "name": ["cold", "hot"]}))
    tables = {half.table: half.merged(), names.table: {**names.merged(), "read": "cold"}}

    answer = run_query(f"select n.name from {half.table} t join names n on t.id = n.id order by t.id", tables)

    assert answer.rows.column("name").to_pylist() == ["cold", "hot"]
    by_table = {receipt.table: receipt for receipt in answer.receipts}
    assert set(by_table) == set(tables)
    assert (by_table["lake.names"].topic, by_table["lake.names"].partitions) == (None, ())


@pytest.mark.kafka
def test_two_federated_tables_have_a_cut_each(half: Lake, lake: MakeLake) -> None:
    other = lake(schema=SCHEMA)
    produce(other.bootstrap, other.topic, ids(5, 7))
    tables = {half.table: half.merged(), other.table: other.merged()}

    answer = run_query(f"select count(*) from {half.table} join {other.table} using (id)", tables)

    assert answer.rows.to_pydict() == {"count_star()": [2]}
    assert {receipt.topic for receipt in answer.receipts} == {half.topic, other.topic}


@pytest.mark.kafka
def test_a_result_over_a_limit_is_an_error(half: Lake) -> None:
    tables = {half.table: half.merged()}

    with pytest.raises(ResultTooLargeError):
        run_query(f"select * from {half.table}", tables, Limits(max_rows=9))

    assert run_query(f"select * from {half.table}", tables, Limits(max_rows=10)).rows.num_rows == 10


def test_a_result_of_too_many_bytes_is_an_error() -> None:
    with pytest.raises(ResultTooLargeError):
        run_query("select repeat('x', 1000) from range(1000)", {}, Limits(max_bytes=100_000))


def test_a_statement_that_runs_too_long_is_stopped() -> None:
    with pytest.raises(QueryTimeoutError, match="200 ms"):
        run_query(ENDLESS, {}, Limits(timeout_ms=200))


def test_a_statement_nobody_waits_for_is_stopped() -> None:
    left = threading.Event()
    threading.Timer(0.1, left.set).start()

    with pytest.raises(QueryCancelledError):
        run_query(ENDLESS, {}, is_abandoned=left.is_set)


@pytest.mark.parametrize(
    "sql",
    [
        "select cast('x' as int)",
        "select error('mine')",
        "select sum(i) over (rows between -1 preceding and current row) from range(2) t(i)",
        "select 9223372036854775807 + 1::bigint",
    ],
)
def test_a_statement_that_fails_on_its_values_is_the_users_error(sql: str) -> None:
    with pytest.raises(SqlError):
        run_query(sql, {})


@pytest.mark.kafka
@pytest.mark.parametrize(
    "sql", ["select * from {t}", "select count(*) from {t} a, {t} b", "select max(id) from {t}"]
)
def test_a_bad_record_surfaces_as_what_it_was(broken: Lake, sql: str) -> None:
    with pytest.raises(DecodeError) as caught:
        broken.sql(sql.format(t=broken.table))

    assert caught.value.details["partition"] == 0
    assert caught.value.details["offset"] == 2


@pytest.mark.kafka
def test_a_missing_data_file_surfaces_as_what_it_was(lake: MakeLake) -> None:
    made = lake(schema=SCHEMA)
    produce(made.bootstrap, made.topic, ids(0, 3))
    commit_until(made)
    for file in made.directory.rglob("*.parquet"):
        file.unlink()

    with pytest.raises(ColdReadError, match=r"\.parquet of snapshot"):
        made.sql(f"select * from {made.table}")


@pytest.mark.kafka
def test_a_statement_that_fails_leaves_the_engine_usable(broken: Lake, half: Lake) -> None:
    for _ in range(3):
        with pytest.raises(HotsetError):
            broken.sql(f"select * from {broken.table}")

    assert half.sql(f"select count(*) from {half.table}").rows.to_pydict() == {"count_star()": [10]}


@pytest.mark.kafka
def test_a_gap_is_an_error_or_named_in_the_receipt(lake: MakeLake) -> None:
    made = lake(schema=SCHEMA, partitions=1)
    produce(made.bootstrap, made.topic, ids(0, 5))
    delete_records(made.bootstrap, made.topic, {0: 2})

    with pytest.raises(OffsetGapError):
        made.sql(f"select id from {made.table}")
    answer = made.sql(f"select id from {made.table} order by 1", failOnDataLoss="false")

    assert answer.rows.column("id").to_pylist() == [2, 3, 4]
    assert answer.receipts[0].gaps == ((0, 0, 2),)


@pytest.mark.kafka
def test_statements_run_side_by_side_without_seeing_each_other(half: Lake, lake: MakeLake) -> None:
    other = lake(schema=SCHEMA)
    produce(other.bootstrap, other.topic, ids(0, 3))
    counts: list[tuple[str, int]] = []

    def ask(made: Lake) -> None:
        for _ in range(5):
            answer = made.sql(f"select count(*) as n from {made.table}")
            counts.append((made.table, answer.rows.column("n")[0].as_py()))

    threads = [threading.Thread(target=ask, args=(made,)) for made in (half, other) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(set(counts)) == sorted([(half.table, 10), (other.table, 3)])
    assert len(counts) == 20


@pytest.mark.kafka
def test_a_plan_reads_nothing(broken: Lake) -> None:
    answer = broken.sql(f"explain select * from {broken.table}")

    assert answer.rows.schema.names == ["plan"]
    assert answer.receipts[0].rows_hot == 0


@pytest.mark.kafka
def test_a_table_is_described_without_reading_it(broken: Lake) -> None:
    answer = broken.sql(f"describe {broken.table}")

    assert answer.rows.column("column_name").to_pylist() == ["id", "note"]


@pytest.mark.kafka
def test_a_broker_that_stops_answering_ends_in_an_error(frail_broker: KafkaBroker, tmp_path: Path) -> None:
    made = new_lake(frail_broker.bootstrap, tmp_path, schema=SCHEMA)
    tables = {made.table: made.merged(planTimeoutMs="500")}
    frail_broker.pause()
    try:
        with pytest.raises(HotsetError) as caught:
            run_query(f"select count(*) from {made.table}", tables)
    finally:
        frail_broker.resume()

    assert caught.value.code == "KAFKA_UNAVAILABLE"


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_csv('/etc/passwd')",
        "attach '/nowhere/x.db'",
        "install httpfs",
        "load httpfs",
        "copy (select 1) to '/nowhere/x'",
        "set enable_external_access = true",
        "set threads = 1",
        "create secret s (type s3, key_id 'x', secret 'y')",
    ],
)
def test_behind_the_gate_the_engine_itself_is_locked(sql: str) -> None:
    with open_cursor() as cursor, pytest.raises(duckdb.Error):
        cursor.execute(sql)
