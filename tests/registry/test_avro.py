"""Avro records of several versions of a schema in a real registry, brought to the table's schema.

What each type becomes is tested elsewhere; here it is versions, references and the reader's schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaReference

from hotset.errors import SchemaMismatchError
from stack.registry import SchemaRegistryServer
from tests.builders import Lake, commit_until, produce, send, unique
from tests.conftest import MakeLake
from tests.registry.serializers import framed, in_avro, register, with_id_in_header
from tests.sql_gateway.door import open_door, query

pytestmark = [pytest.mark.kafka, pytest.mark.registry]

ADDRESS = pa.struct([("city", pa.string()), ("zip", pa.int32())])
ORDERS = pa.schema([("id", pa.int64()), ("region", pa.string()), ("note", pa.string()), ("address", ADDRESS)])


def record(*fields: Mapping[str, Any], name: str = "Order") -> str:
    return json.dumps({"type": "record", "name": name, "namespace": "shop", "fields": list(fields)})


ID = {"name": "id", "type": "long"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}


@pytest.fixture
def orders(lake: MakeLake, registry: SchemaRegistryServer) -> Lake:
    made = lake(schema=ORDERS, partitions=1)
    return made.having(valueFormat="avro", **{"schema.registry.url": registry.url})


def answers(made: Lake, columns: str) -> list[list[Any]]:
    """The same rows from the library and from the gateway, in their order."""
    wanted = columns.split(", ")
    found = made.open().scan().to_arrow().select(wanted).to_pylist()
    rows: list[list[Any]] = query(open_door(made), f"select {columns} from {made.table} order by id")["rows"]
    assert sorted(([*row.values()] for row in found), key=lambda row: row[0]) == rows
    return rows


def test_versions_side_by_side_are_each_read_by_their_own(
    orders: Lake, registry: SchemaRegistryServer
) -> None:
    first = record({"name": "id", "type": "int"}, {"name": "region", "type": "string"})
    second = record(NOTE, {"name": "added", "type": {"type": "array", "items": "string"}}, ID)
    third = record({"name": "place", "type": "string", "aliases": ["region"]}, ID)
    a = in_avro(registry.url, orders.topic, first, [{"id": n, "region": "eu"} for n in (0, 3)])
    b = in_avro(registry.url, orders.topic, second, [{"id": n, "note": "n", "added": ["x"]} for n in (1, 4)])
    c = in_avro(registry.url, orders.topic, third, [{"id": n, "place": "us"} for n in (2, 5)])
    assert len({payload[:5] for payload in (*a, *b, *c)}) == 3
    produce(orders.bootstrap, orders.topic, [a[0], b[0], c[0]])
    commit_until(orders)
    send(orders.bootstrap, orders.topic, [*framed([a[1], b[1]]), with_id_in_header(c[1])])

    assert answers(orders, "id, region, note") == [
        [0, "eu", None],
        [1, None, "n"],
        [2, "us", None],
        [3, "eu", None],
        [4, None, "n"],
        [5, "us", None],
    ]


def test_a_schema_that_refers_to_another(orders: Lake, registry: SchemaRegistryServer) -> None:
    subject = unique("address")
    address = record({"name": "city", "type": "string"}, {"name": "zip", "type": "int"}, name="Address")
    register(registry.url, subject, "AVRO", address)
    text = record(ID, {"name": "address", "type": "shop.Address"})
    values = [{"id": n, "address": {"city": "Bern", "zip": 3000 + n}} for n in range(2)]
    made = in_avro(registry.url, orders.topic, text, values, [SchemaReference("shop.Address", subject, 1)])
    produce(orders.bootstrap, orders.topic, made[:1])
    commit_until(orders)
    produce(orders.bootstrap, orders.topic, made[1:])

    assert answers(orders, "id, address") == [
        [0, {"city": "Bern", "zip": 3000}],
        [1, {"city": "Bern", "zip": 3001}],
    ]


def test_the_readers_schema_tells_aliases_and_defaults(orders: Lake, registry: SchemaRegistryServer) -> None:
    old = record(ID, {"name": "country", "type": "string"})
    new = record(
        ID,
        {"name": "region", "type": "string", "aliases": ["country"]},
        {"name": "note", "type": "string", "default": "none yet"},
    )
    payloads = in_avro(registry.url, orders.topic, old, [{"id": 0, "country": "ch"}])
    produce(orders.bootstrap, orders.topic, payloads)
    latest = register(registry.url, f"{orders.topic}-value", "AVRO", new)

    assert answers(orders, "id, region, note") == [[0, None, None]]
    assert answers(orders.having(readerSchema="latest"), "id, region, note") == [[0, "ch", "none yet"]]
    assert answers(orders.having(readerSchema=str(latest)), "id, region, note") == [[0, "ch", "none yet"]]


def test_a_schema_of_which_no_row_can_be_made(orders: Lake, registry: SchemaRegistryServer) -> None:
    made = in_avro(registry.url, orders.topic, record({"name": "id", "type": "string"}), [{"id": "x"}])
    produce(orders.bootstrap, orders.topic, made)

    with pytest.raises(SchemaMismatchError, match=r"schema id \d+: column 'id'.*offset 0"):
        orders.open().scan().to_arrow()


def test_a_record_is_judged_by_all_columns_whatever_a_statement_looks_at(
    orders: Lake, registry: SchemaRegistryServer
) -> None:
    fields = (ID, {"name": "region", "type": "int"})
    produce(
        orders.bootstrap,
        orders.topic,
        in_avro(registry.url, orders.topic, record(*fields), [{"id": 1, "region": 2}]),
    )

    for columns in ("id", "count(*)", "region"):
        with pytest.raises(SchemaMismatchError, match="column 'region'"):
            orders.sql(f"select {columns} from {orders.table}")
