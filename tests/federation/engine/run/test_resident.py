"""Statements over rows that were kept for the statement before: the same answers, and nothing is asked twice.

Each answer is compared with one that Kafka alone gives, for rows in chunks and rows in memory. The statements
are those that look at columns in ways which their text hardly tells.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import federation.engine.run.attempt as attempt
from federation.engine.run.query import run_query
from federation.engine.statement.statement import parse_statement
from federation.errors import EngineError, SqlError
from hotset.errors import DecodeError, UnsupportedFormatError
from tests.builders import Lake, commit_until, delete_topic, make_topic, produce
from tests.conftest import MakeLake

PLACE = pa.struct([("town", pa.string()), ("zip", pa.int32())])
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("kind", pa.string()),
        ("place", PLACE),
        ("tags", pa.list_(pa.string())),
        ("price", pa.decimal128(9, 2)),
    ]
)


def orders(first: int, end: int) -> list[dict[str, Any]]:
    return [
        {
            "id": n,
            "kind": "abc"[n % 3],
            "place": {"town": f"t{n % 2}", "zip": n},
            "tags": ["x"] * (n % 3),
            "price": "1.50",
        }
        for n in range(first, end)
    ]


@pytest.fixture(params=[1, 1000], ids=["chunks", "tail"])
def tail_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many rows are worth a chunk: any two, or none that a test has."""
    monkeypatch.setattr("hotset.store.resident_log._TAIL_ROWS", request.param)
    return int(request.param)


@pytest.fixture
def hot(lake: MakeLake, tail_rows: int) -> Lake:
    """Nine orders on two partitions, none of them in the table, and a store."""
    made = lake(schema=SCHEMA).having(hotStore="on_demand")
    produce(made.bootstrap, made.topic, orders(0, 5), partition=0)
    produce(made.bootstrap, made.topic, orders(5, 9), partition=1)
    return made


def rows(lake: Lake, sql: str, **options: str) -> list[dict[str, Any]]:
    return lake.sql(sql.format(t=lake.table), **options).rows.to_pylist()


def count(lake: Lake) -> tuple[int, int, int]:
    """How many rows there are, and how many records came from Kafka and from the store."""
    answer = lake.sql(f"select count(*) from {lake.table}")
    [receipt] = answer.receipts
    return answer.rows.to_pylist()[0]["count_star()"], receipt.records_fetched, receipt.records_resident


STATEMENTS = [
    "select * from {t} order by id",
    "select id from {t} order by id",
    "select kind, count(*) as n from {t} group by kind order by kind",
    "select count(*) as n from {t}",
    "select count(*) from {t} where id > 3",
    "select count(*) from {t} a, {t} b",
    "select KIND from {t} order by ID",
    "select place.town, t.place.zip from {t} t order by id",
    "select {t}.id from {t} order by 1",
    "select t from {t} t order by t.id",
    "select #1 from {t} order by 1",
    "select columns('i.*') from {t} order by 1",
    "select * exclude (tags) from {t} order by id",
    "select id from {t} natural join (select 3::bigint as id, 'a' as kind) order by id",
    "select x from (select * from {t}) as s(x, y) order by x",
    "with s as (select * from {t}) select max(place) from s",
    "select try(price) from {t} order by id",
    "select coalesce(try(cast(kind as int)), id) from {t} order by id",
    "select unnest(tags) as tag, id from {t} order by id",
    "select id from {t} where price is not null order by all",
    "select distinct on (kind) kind from {t} order by kind",
    "select count(*) from {t} limit 0",
    "select kind from {t} where false",
    "describe {t}",
    "select count(*) filter (kind = 'a') from {t}",
    "select (select count(*) from {t}) as n, id from {t} order by id limit 1",
    "from {t} select count(*)",
    "select 1 as one",
]


@pytest.mark.kafka
@pytest.mark.parametrize("sql", STATEMENTS)
def test_an_answer_over_kept_rows_is_the_one_that_kafka_gives(hot: Lake, sql: str) -> None:
    told = rows(hot, sql, hotStore="off")

    assert rows(hot, sql) == told
    assert rows(hot, sql) == told
    produce(hot.bootstrap, hot.topic, orders(9, 30), partition=1)
    assert rows(hot, sql) == rows(hot, sql, hotStore="off")


@pytest.mark.kafka
def test_types_and_names_of_a_counted_answer_are_those_of_the_engine(hot: Lake) -> None:
    for sql in ("select count(*) from {t}", "select count(*) as n from {t}", "select count() from {t} x"):
        asked = hot.sql(sql.format(t=hot.table), hotStore="off").rows

        rows(hot, sql)
        assert hot.sql(sql.format(t=hot.table)).rows.schema == asked.schema


@pytest.mark.kafka
def test_only_new_records_are_read(hot: Lake) -> None:
    assert count(hot) == (9, 9, 0)
    assert count(hot) == (9, 0, 9)
    produce(hot.bootstrap, hot.topic, orders(9, 12), partition=0)
    assert count(hot) == (12, 3, 9)
    assert count(hot) == (12, 0, 12)


@pytest.mark.kafka
def test_many_small_additions_are_one_answer(hot: Lake) -> None:
    for n in range(9, 60, 2):
        produce(hot.bootstrap, hot.topic, orders(n, n + 2), partition=n % 2)
        found = rows(hot, "select id, kind, price from {t} order by id")

        assert [row["id"] for row in found] == list(range(n + 2))
    assert found == rows(hot, "select id, kind, price from {t} order by id", hotStore="off")


@pytest.mark.kafka
def test_an_older_cut_sees_what_it_saw(hot: Lake) -> None:
    statement = f"select count(*) as n, max(id) as last from {hot.table}"
    before = hot.sql(statement)
    produce(hot.bootstrap, hot.topic, orders(9, 15))
    assert hot.sql(statement).rows.to_pylist() == [{"n": 15, "last": 14}]

    assert hot.sql(statement, cut=before.receipts[0].cut).rows == before.rows
    assert hot.sql(statement).rows.to_pylist() == [{"n": 15, "last": 14}]


@pytest.mark.kafka
def test_what_was_committed_is_not_counted_twice(hot: Lake) -> None:
    assert count(hot) == (9, 9, 0)
    commit_until(hot)
    produce(hot.bootstrap, hot.topic, orders(9, 11))

    assert count(hot) == (11, 2, 0)
    assert rows(hot, "select sum(id) as s from {t}") == [{"s": 55}]


@pytest.mark.kafka
def test_another_topic_of_the_name_has_other_rows(lake: MakeLake) -> None:
    made = lake(schema=SCHEMA, partitions=1).having(hotStore="on_demand", read="hot", schema="id long")
    produce(made.bootstrap, made.topic, orders(0, 4))
    assert count(made) == (4, 4, 0)
    assert count(made) == (4, 0, 4)
    delete_topic(made.bootstrap, made.topic)
    make_topic(made.bootstrap, made.topic, partitions=1)
    produce(made.bootstrap, made.topic, orders(10, 14))

    assert rows(made, "select min(id) as low from {t}") == [{"low": 10}]
    assert count(made)[0] == 4


@pytest.mark.kafka
def test_a_bad_record_is_the_same_error_after_good_ones_were_kept(hot: Lake) -> None:
    assert count(hot) == (9, 9, 0)
    produce(hot.bootstrap, hot.topic, [b'{"id": "x"}'], partition=0)

    for _ in range(2):
        with pytest.raises(DecodeError, match="partition 0 offset 5 "):
            count(hot)
    assert rows(hot, "select count(*) as n, max(id) as i from {t}", badRecords="skip") == [{"n": 9, "i": 8}]


@pytest.mark.kafka
def test_a_wrong_statement_is_told_of_in_its_own_words(hot: Lake) -> None:
    count(hot)

    with pytest.raises(SqlError, match='Referenced column "nothing" not found'):
        rows(hot, "select nothing from {t}")
    with pytest.raises(SqlError, match="Could not convert string 'b' to INT32"):
        rows(hot, "select cast(kind as int) from {t} where id = 1")


@pytest.mark.kafka
def test_two_tables_of_one_topic_are_kept_apart(hot: Lake, lake: MakeLake) -> None:
    other = lake(schema=pa.schema([("kind", pa.string())])).having(hotStore="on_demand")
    tables = {hot.table: hot.merged(), other.table: {**other.merged(), "subscribe": hot.topic}}
    statement = (
        f"select count(*), count(distinct b.kind) from {hot.table} a join {other.table} b using (kind)"
    )

    for _ in range(3):
        assert [tuple(row.values()) for row in run_query(statement, tables).rows.to_pylist()] == [(27, 3)]


@pytest.mark.kafka
@pytest.mark.parametrize("when", ["before it begins", "while it runs"])
def test_a_statement_whose_chunks_go_is_run_anew(
    hot: Lake, tail_rows: int, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    assert count(hot) == (9, 9, 0)
    step, gone = ("show_table" if when == "before it begins" else "collect_in_turn"), list[Path]()
    real = getattr(attempt, step)

    def losing(*args: Any, **how: Any) -> Any:
        there = list(Path(hot.options["hotStorePath"]).glob("logs/*/*.parquet"))
        for path in there if not gone else ():
            path.unlink()
        gone.extend(there)
        return real(*args, **how)

    monkeypatch.setattr(attempt, step, losing)

    assert rows(hot, "select sum(id) as s from {t}") == [{"s": 36}]
    assert bool(gone) == (tail_rows == 1)


@pytest.mark.kafka
@pytest.mark.parametrize("tail_rows", [1], indirect=True)
def test_a_statement_whose_chunks_go_each_time_ends_in_an_error(
    hot: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = attempt.show_table

    def losing(*args: Any) -> None:
        for path in Path(hot.options["hotStorePath"]).glob("logs/*/*.parquet"):
            path.unlink()
        real(*args)

    monkeypatch.setattr(attempt, "show_table", losing)

    with pytest.raises(EngineError, match="removed while they were read"):
        rows(hot, "select sum(id) as s from {t}")


@pytest.mark.kafka
def test_a_column_that_no_record_fills_fails_where_it_is_looked_at_only(
    lake: MakeLake, tail_rows: int
) -> None:
    schema = pa.schema([("id", pa.int64()), ("note", pa.string())])
    made = lake(schema=schema, partitions=1).having(hotStore="on_demand", kafkaColumns="key=note")
    produce(made.bootstrap, made.topic, [{"id": n} for n in range(3)])

    for _ in range(2):
        assert rows(made, "select sum(id) as s, count(*) as n from {t}") == [{"s": 3, "n": 3}]
        with pytest.raises(UnsupportedFormatError, match="column 'note'"):
            rows(made, "select note from {t}")


def test_a_statement_that_was_parsed_is_the_same_again() -> None:
    first = parse_statement("select id from t", ["a.t"])

    assert parse_statement("select id from t", ["a.t"]) is first
    with pytest.raises(SqlError):
        parse_statement("select id from t", ["a.other"])
