"""Columns of UUIDs from records to answers: filters, keys, changes, bad records, the store and the table.

What each format's UUIDs are is tested cell by cell (`tests/formats`). Here hot rows stand beside cold ones,
which hold other UUIDs, so that an answer that lacks or mixes them is seen.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyiceberg.transforms import BucketTransform

from hotset.errors import DecodeError
from pipeline.freeze import freeze_once
from tests.builders import Lake, commit_until, produce, send
from tests.conftest import MakeLake
from tests.hotset.changes import debezium
from tests.sql_gateway.door import open_door, query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.kafka

NESTED = pa.struct([("u", pa.uuid()), ("l", pa.list_(pa.uuid())), ("m", pa.map_(pa.string(), pa.uuid()))])
SCHEMA = pa.schema([pa.field("id", pa.uuid(), nullable=False), ("ref", pa.uuid()), ("n", NESTED)])
BAD = {"id": str(UUID(int=7)), "ref": UUID(int=7).hex}


def named(number: int) -> UUID:
    return UUID(int=number << 64 | 0xAB)


def row(number: int) -> dict[str, Any]:
    text, other = str(named(number)), str(named(number + 100)).upper()
    return {"id": text, "ref": other, "n": {"u": text, "l": [other, None], "m": {"k": text}}}


def found(number: int) -> dict[str, Any]:
    """The row as the library returns it."""
    own, other = named(number), named(number + 100)
    return {"id": own, "ref": other, "n": {"u": own, "l": [other, None], "m": [("k", own)]}}


@pytest.fixture(params=["off", "on_demand"])
def half(lake: MakeLake, request: pytest.FixtureRequest) -> Lake:
    """Rows 0 to 4 in the table, 5 to 9 in the topic only, and row 10 without `ref` and `n`."""
    made = lake(schema=SCHEMA, partitions=1).having(hotStore=request.param)
    produce(made.bootstrap, made.topic, [row(number) for number in range(5)])
    commit_until(made)
    produce(made.bootstrap, made.topic, [row(number) for number in range(5, 10)])
    produce(made.bootstrap, made.topic, [{"id": str(named(10))}])
    return made


@pytest.mark.usefixtures("way")
def test_rows_of_either_half_are_the_same(half: Lake) -> None:
    expected = [*map(found, range(10)), {"id": named(10), "ref": None, "n": None}]

    for _ in range(2):  # once as they come, once as they were kept
        rows = half.open().scan().to_arrow()
        rows.validate(full=True)
        assert rows.schema.field("id").type == pa.uuid()
        assert sorted(rows.to_pylist(), key=lambda each: each["id"]) == expected
        answer = half.sql(
            f"select id, ref, n.u, n.l, n.m from {half.table} where ref is not null order by id"
        )
        assert answer.rows.to_pylist() == [
            {
                "id": str(own),
                "ref": str(other),
                "u": str(own),
                "l": [str(other), None],
                "m": [("k", str(own))],
            }
            for own, other in ((named(number), named(number + 100)) for number in range(10))
        ]


@pytest.mark.parametrize(
    ("where", "numbers"),
    [
        (f"id = '{named(3)}'", [3]),
        (f"id = '{str(named(7)).upper()}'", [7]),
        (f"id = UUID '{named(7)}'", [7]),
        (f"id in ('{named(2)}', '{named(8)}')", [2, 8]),
        (f"id <> '{named(8)}' and id > '{named(3)}'", [4, 5, 6, 7, 9, 10]),
        (f"id between '{named(4)}' and '{named(6)}'", [4, 5, 6]),
        (f"n.u >= '{named(9)}'", [9]),
        ("ref is null", [10]),
        (f"ref = '{named(103)}' or ref = '{named(108)}'", [3, 8]),
        (f"list_contains(n.l, UUID '{named(107)}')", [7]),
        ("id::varchar like '%-00ab' and false", []),
        (f"n.m['k'] = '{named(1)}'", [1]),
        (f"id in (select ref from t where ref < '{named(101)}')", []),
    ],
)
def test_filters_find_rows_of_either_half(half: Lake, where: str, numbers: list[int]) -> None:
    where = where.replace(" t ", f" {half.table} ")

    for _ in range(2):
        answer = half.sql(f"select id from {half.table} where {where} order by id")
        assert [each["id"] for each in answer.rows.to_pylist()] == [str(named(n)) for n in numbers]
        counted = half.sql(f"select count(*) n, min(id) a, max(id) b from {half.table} where {where}")
        ends = [str(named(numbers[0])), str(named(numbers[-1]))] if numbers else [None, None]
        assert list(counted.rows.to_pylist()[0].values()) == [len(numbers), *ends]


def test_the_gateway_and_a_join_by_uuid(half: Lake) -> None:
    sql = (
        f"select a.id, count(b.id) from {half.table} a left join {half.table} b on a.id = b.n.u "
        "group by a.id order by a.id"
    )

    body = query(open_door(half), sql)

    assert body["rows"] == [[str(named(number)), int(number < 10)] for number in range(11)]


def test_a_text_that_is_none_is_a_bad_record_under_each_policy(half: Lake) -> None:
    produce(half.bootstrap, half.topic, [BAD])
    why = "column 'ref' wants extension<arrow.uuid>, and holds text that is no UUID"
    sql = f"select id, ref from {half.table} where ref is null order by id"

    for _ in range(2):
        with pytest.raises(DecodeError, match="holds text that is no UUID"):
            half.sql(sql)
        skipped = half.sql(sql, badRecords="skip")
        assert skipped.rows.to_pylist() == [{"id": str(named(10)), "ref": None}]
        nulls = half.sql(sql.replace("id, ref", "id, _kafkaiceberg_error e"), badRecords="null")
        assert nulls.rows.to_pylist() == [{"id": str(named(10)), "e": None}, {"id": None, "e": why}]
        letters = f'"{half.table}$dead_letters"'
        dead = half.sql(f"select value, error from {letters}", badRecords="dead_letter")
        assert dead.rows.to_pylist() == [{"value": json.dumps(BAD).encode(), "error": why}]


@pytest.mark.parametrize("form", ["string", "bytes", "json"])
def test_keys_are_uuids(lake: MakeLake, form: str) -> None:
    made = lake(schema=SCHEMA, partitions=1).having(keyFormat=form, keyFields="id")
    key = {"string": str(named(1)).encode(), "bytes": named(1).bytes, "json": json.dumps(row(1)).encode()}
    send(made.bootstrap, made.topic, [(key[form], b"{}", [])])

    assert made.open().scan(["id"]).to_arrow().to_pylist() == [{"id": named(1)}]
    send(made.bootstrap, made.topic, [(b"{}x", b"{}", [])])
    with pytest.raises(DecodeError, match="its key"):
        made.open().scan(["id"]).to_arrow()


def test_changes_of_rows_have_uuids(lake: MakeLake) -> None:
    schema = SCHEMA.append(pa.field("op", pa.string()))
    made = lake(schema=schema, partitions=1).having(envelope="debezium", operationColumn="op")
    produce(made.bootstrap, made.topic, [debezium("c", None, row(1)), debezium("d", row(2))])
    plain = {"schema": {"type": "struct"}, "payload": debezium("u", row(2), row(3))}
    produce(made.bootstrap, made.topic, [plain])

    rows = made.open().scan().to_arrow().sort_by("op").to_pylist()

    assert rows == [{**found(1), "op": "c"}, {**found(2), "op": "d"}, {**found(3), "op": "u"}]


@pytest.mark.parametrize("partition", [None, "id", "n.u", "bucket"])
@pytest.mark.spark
def test_hot_rows_are_frozen_and_found_by_their_partition(
    spark: SparkSession, lake: MakeLake, partition: str | None
) -> None:
    made = lake(schema=SCHEMA, partitions=1)
    if partition is not None:
        with made.load().update_spec() as spec:
            if partition == "bucket":
                spec.add_field("id", BucketTransform(4), "part")
            else:
                spec.add_identity(partition)
    produce(made.bootstrap, made.topic, [row(number) for number in range(4)])

    assert freeze_once(spark, made.merged()).rows == 4

    frozen = made.open(read="cold").scan().to_arrow().to_pylist()
    assert sorted(frozen, key=lambda each: each["id"]) == [found(number) for number in range(4)]
    produce(made.bootstrap, made.topic, [row(number) for number in range(4, 6)])
    for number in (1, 5):
        answer = made.sql(f"select n.u from {made.table} where id = '{named(number)}'")
        assert answer.rows.to_pylist() == [{"u": str(named(number))}]
    rows = spark.read.format("kafkaiceberg").options(**made.options).load(made.table)
    assert rows.where(f"id = '{named(5)}'").select("ref").collect()[0][0] == str(named(105))
    assert rows.where(f"id = '{named(1)}'").select("n.l").collect()[0][0] == [str(named(101)), None]
