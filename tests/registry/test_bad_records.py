"""Bad keys, frames, headers and raw payloads in answers of library, gateway and Spark, by each policy.

A topic has two good records and between them one of every kind of bad one; what is bad in each, the suite of
the same name beside the decoders says. Schemas are in a real registry.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from hotset.errors import DecodeError
from stack.registry import SchemaRegistryServer
from tests.builders import Lake, send, unique
from tests.conftest import MakeLake
from tests.hotset.bad_payloads import FORMATS, Payloads, Record
from tests.hotset.bad_schemas import SCHEMAS
from tests.registry.serializers import register
from tests.sql_gateway.door import assert_error, open_door, query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.registry]


@dataclass(frozen=True)
class Topic:
    """A lake whose topic has good records at its ends, and bad ones with these reasons between them."""

    lake: Lake
    sent: Sequence[Record]
    reasons: Sequence[str]

    def having(self, policy: str, **more: str) -> Lake:
        return self.lake.having(badRecords=policy, **more)

    @property
    def last(self) -> int:
        return len(self.sent) - 1

    def tells(self, reasons: Sequence[str]) -> bool:
        """Whether each of the bad records, in their order, was found bad for its own reason."""
        pairs = zip(self.reasons, reasons, strict=True)
        return all(wanted in reason for wanted, reason in pairs)


@pytest.fixture(scope="module")
def ids(registry: SchemaRegistryServer) -> dict[int, int]:
    """What the registry calls the schemas of the records."""
    return {
        number: register(registry.url, unique("bad"), kind, text) for number, (kind, text) in SCHEMAS.items()
    }


@pytest.fixture(params=FORMATS)
def topic(
    lake: MakeLake, registry: SchemaRegistryServer, ids: Mapping[int, int], request: pytest.FixtureRequest
) -> Topic:
    payloads: Payloads = FORMATS[request.param]
    made = lake(schema=payloads.schema, partitions=1)
    told = payloads.record_format
    options = {"valueFormat": told.value, "schema.registry.url": registry.url}
    if told.key is not None:
        options |= {"keyFormat": told.key, "keyFields": ",".join(told.key_fields)}
    bad = [payloads.bad_record(wrong) for wrong in payloads.all_bad]
    records = [_renamed(record, ids) for record in (payloads.record(0), *bad, payloads.record(1))]
    send(made.bootstrap, made.topic, [(each.key, each.value, list(each.headers)) for each in records])
    reasons = [_in_registry(reason, ids) for _, reason in payloads.all_bad.values()]
    return Topic(made.having(**options), records, reasons)


def _renamed(record: Record, ids: Mapping[int, int]) -> Record:
    """The same record with the registry's ids."""

    def renamed(told: bytes) -> bytes:
        called = ids.get(int.from_bytes(told[1:5])) if told[:1] == b"\0" and len(told) >= 5 else None
        return told if called is None else b"\0" + called.to_bytes(4) + told[5:]

    value = None if record.value is None else renamed(record.value)
    return Record(value, renamed(record.key), tuple((name, renamed(told)) for name, told in record.headers))


def _in_registry(reason: str, ids: Mapping[int, int]) -> str:
    return re.sub(r"schema id (\d+)", lambda told: f"schema id {ids[int(told[1])]}", reason)


def test_the_library_and_the_gateway_do_with_them_as_the_policy_says(topic: Topic) -> None:
    table, bad = topic.lake.table, len(topic.reasons)

    with pytest.raises(DecodeError, match=r"badRecords|schema id"):
        topic.having("fail").open().scan().to_arrow()
    refused = open_door(topic.having("fail")).get("/v1/sql", query_string={"q": f"from {table}"})
    assert refused.status_code == 400
    assert refused.get_json()["error"]["kind"] == "user"

    scan = topic.having("skip").open().scan()
    assert sorted(scan.to_arrow()["id"].to_pylist()) == [0, 1]
    assert (scan.receipt.rows_hot, scan.receipt.records_bad) == (2, bad)
    body = query(open_door(topic.having("skip", hotStore="on_demand")), f"select id from {table} order by 1")
    assert body["rows"] == [[0], [1]]
    assert body["receipt"]["tables"][0]["records_bad"] == bad

    rows = topic.having("null").open().scan().to_arrow().sort_by("_kafkaiceberg_offset").to_pylist()
    assert topic.tells([row["_kafkaiceberg_error"] for row in rows if row["_kafkaiceberg_error"]])
    assert all(row["id"] is row["note"] is row["at"] is None for row in rows if row["_kafkaiceberg_error"])
    told = query(
        open_door(topic.having("null", hotStore="on_demand")),
        f"select _kafkaiceberg_offset, _kafkaiceberg_error, id from {table} order by 1",
    )["rows"]
    assert [row[0] for row in told] == list(range(len(topic.sent)))
    assert topic.tells([row[1] for row in told[1:-1]])
    assert [row[2] for row in told] == [0, *[None] * bad, 1]

    letters = topic.having("dead_letter")
    found = query(open_door(letters), f'select "offset", error from {table}$dead_letters order by 1')["rows"]
    assert [row[0] for row in found] == list(range(1, topic.last))
    assert topic.tells([row[1] for row in found])
    kept = letters.having(hotStore="on_demand").sql(
        f'select key, value from {table}$dead_letters order by "offset"'
    )
    assert kept.rows.to_pylist() == [{"key": sent.key, "value": sent.value} for sent in topic.sent[1:-1]]
    assert sorted(letters.open().scan().to_arrow()["id"].to_pylist()) == [0, 1]


@pytest.mark.spark
def test_spark_does_with_them_as_the_policy_says(topic: Topic, spark: SparkSession) -> None:
    def load(policy: str, part: str = "") -> list[dict[str, object]]:
        options = topic.having(policy).options
        rows = spark.read.format("kafkaiceberg").options(**options).load(topic.lake.table + part).collect()
        return [row.asDict(recursive=True) for row in rows]

    with pytest.raises(Exception, match=r"is not a row of the table|schema id"):
        load("fail")
    assert sorted(str(row["id"]) for row in load("skip")) == ["0", "1"]
    rows = sorted(load("null"), key=lambda row: str(row["_kafkaiceberg_offset"]).rjust(9))
    assert topic.tells([str(row["_kafkaiceberg_error"]) for row in rows if row["_kafkaiceberg_error"]])
    letters = sorted(load("dead_letter", "$dead_letters"), key=lambda row: str(row["offset"]).rjust(9))
    assert topic.tells([str(row["error"]) for row in letters])
    assert [bytes(row["value"] or b"") for row in letters] == [sent.value for sent in topic.sent[1:-1]]


def test_a_schema_that_nobody_knows_is_an_error_whatever_the_policy(
    lake: MakeLake, registry: SchemaRegistryServer
) -> None:
    made = lake(schema=pa.schema([("id", pa.int64()), ("note", pa.string())]), partitions=1)
    key = b"\0\x7f\xff\xff\xff\2"
    send(
        made.bootstrap,
        made.topic,
        [(key, b'{"note": "x"}', []), (key[5:], b"{}", [("__key_schema_id", key[:5])])],
    )
    for policy in ("fail", "null", "skip", "dead_letter"):
        told = made.having(
            badRecords=policy,
            keyFormat="avro",
            keyFields="id",
            **{"schema.registry.url": registry.url},
        )
        refused = open_door(told).get("/v1/sql", query_string={"q": f"from {made.table}"})
        assert_error(refused, 400, "SCHEMA_NOT_FOUND", says="id 2147483647; .*offset 0")
