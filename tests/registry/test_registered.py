"""Records that Confluent's serializers made, with schemas in a real registry, read as one with their table.

Each test commits a prefix and reads it together with what is in the topic only.
"""

from __future__ import annotations

import base64
import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka.serialization import MessageField

from hotset.errors import (
    RegistryAccessError,
    RegistryUnavailableError,
    SchemaMismatchError,
    SchemaNotFoundError,
)
from hotset.registry.registered_schema import RegisteredSchema
from stack.registry import SchemaRegistryServer
from tests.builders import Lake, commit_until, produce, send, unique
from tests.conftest import MakeLake
from tests.hotset.proto import message_class, proto3, registered
from tests.hotset.small_registry import SmallRegistry, reply, small_registry
from tests.registry.serializers import (
    framed,
    in_json_schema,
    in_protobuf,
    register,
    with_id_in_header,
)
from tests.sql_gateway.door import open_door, query

pytestmark = [pytest.mark.kafka, pytest.mark.registry]

ORDERS = pa.schema([("id", pa.int64()), ("region", pa.string()), ("note", pa.string())])


def version(*names: str) -> str:
    """A JSON Schema of some columns; each set of them is a version of its own."""
    types = {"id": "integer", "region": "string", "note": "string"}
    properties = {name: {"type": types[name]} for name in names}
    return json.dumps({"title": "Order", "type": "object", "properties": properties})


@pytest.fixture
def orders(lake: MakeLake, registry: SchemaRegistryServer) -> Lake:
    made = lake(schema=ORDERS, partitions=1)
    return made.having(valueFormat="json_schema", **{"schema.registry.url": registry.url})


def answers(made: Lake, columns: str) -> list[list[object]]:
    """The same rows from the library and from the gateway, in their order."""
    wanted = columns.split(", ")
    found = made.open().scan().to_arrow().select(wanted).to_pylist()
    rows = query(open_door(made), f"select {columns} from {made.table} order by {wanted[0]}")["rows"]
    assert sorted(([*row.values()] for row in found), key=lambda row: row[0]) == rows
    return rows


def test_several_versions_of_a_schema_in_one_hot_range(orders: Lake, registry: SchemaRegistryServer) -> None:
    old = in_json_schema(
        registry.url, orders.topic, version("id", "region"), [{"id": n, "region": "eu"} for n in (0, 1, 3)]
    )
    new = in_json_schema(
        registry.url, orders.topic, version("id", "note"), [{"id": n, "note": "x"} for n in (2, 4)]
    )
    assert old[0][:5] != new[0][:5]
    produce(orders.bootstrap, orders.topic, [old[0], old[1]])
    commit_until(orders)
    produce(orders.bootstrap, orders.topic, [new[0], old[2], new[1]])

    assert answers(orders, "id, region, note") == [
        [0, "eu", None],
        [1, "eu", None],
        [2, None, "x"],
        [3, "eu", None],
        [4, None, "x"],
    ]


def test_a_schema_id_in_the_header(orders: Lake, registry: SchemaRegistryServer) -> None:
    made = in_json_schema(registry.url, orders.topic, version("id"), [{"id": n} for n in range(4)])
    send(orders.bootstrap, orders.topic, [*framed(made[:1]), with_id_in_header(made[1])])
    commit_until(orders)
    send(orders.bootstrap, orders.topic, [with_id_in_header(made[2]), *framed(made[3:])])

    assert answers(orders, "id") == [[0], [1], [2], [3]]


def test_keys_have_schemas_of_their_own(lake: MakeLake, registry: SchemaRegistryServer) -> None:
    made = lake(schema=ORDERS, partitions=1).having(
        valueFormat="json_schema",
        keyFormat="json_schema",
        keyFields="id",
        **{"schema.registry.url": registry.url},
    )
    key, value = version("id"), version("region")
    keys = in_json_schema(
        registry.url, made.topic, key, [{"id": n} for n in range(2)], field=MessageField.KEY
    )
    values = in_json_schema(registry.url, made.topic, value, [{"region": "eu", "id": 9}] * 2)
    send(made.bootstrap, made.topic, [(keys[0], values[0], [])])
    commit_until(made)
    bare = [("__key_schema_id", keys[1][:5]), ("__value_schema_id", values[1][:5])]
    send(made.bootstrap, made.topic, [(keys[1][5:], values[1][5:], bare)])

    assert answers(made, "id, region") == [[0, "eu"], [1, "eu"]]


MONEY = proto3("package shop; message Money { int64 units = 1; string currency = 2; }")


def order_schema(fields: str) -> RegisteredSchema:
    text = f'syntax = "proto3"; import "money.proto"; message Note {{}} message Order {{ {fields} }}'
    return registered(text, ("money.proto", MONEY))


def test_protobuf_with_imported_types_and_two_versions(
    lake: MakeLake, registry: SchemaRegistryServer
) -> None:
    money = pa.struct([("units", pa.int64()), ("currency", pa.string())])
    schema = pa.schema([("id", pa.int64()), ("price", money), ("tags", pa.list_(pa.string()))])
    made = lake(schema=schema, partitions=1).having(
        valueFormat="protobuf", **{"schema.registry.url": registry.url}
    )
    old = message_class(order_schema("int64 id = 1; shop.Money price = 2;"), "Order")
    new = message_class(order_schema("repeated string tags = 3; sint64 id = 1;"), "Order")
    older = in_protobuf(
        registry.url, made.topic, [old(id=n, price={"units": n, "currency": "EUR"}) for n in (0, 2)]
    )
    newer = in_protobuf(registry.url, made.topic, [new(id=n, tags=["a", "b"]) for n in (1, 3)])
    assert older[0][:5] != newer[0][:5]
    produce(made.bootstrap, made.topic, [older[0], newer[0]])
    commit_until(made)
    send(made.bootstrap, made.topic, [*framed(older[1:]), with_id_and_index_in_header(newer[1])])

    rows = sorted(made.open().scan().to_arrow().to_pylist(), key=lambda row: row["id"])

    assert [row["id"] for row in rows] == [0, 1, 2, 3]
    assert rows[2]["price"] == {"units": 2, "currency": "EUR"}
    assert rows[3]["tags"] == ["a", "b"]
    asked = query(open_door(made), f"select id, price.units, tags from {made.table} order by id")["rows"]
    assert asked[2][1] == 2
    assert asked[3] == [3, None, ["a", "b"]]


def with_id_and_index_in_header(payload: bytes) -> tuple[None, bytes, list[tuple[str, bytes]]]:
    """Order is the second message, so its index is two bytes: one element, and that is 1."""
    assert payload[5:7] == b"\x02\x02"
    return None, payload[7:], [("__value_schema_id", payload[:7])]


def test_an_id_that_the_registry_does_not_know(orders: Lake, registry: SchemaRegistryServer) -> None:
    produce(orders.bootstrap, orders.topic, [b"\0\x7f\xff\xff\xff{}"])

    with pytest.raises(SchemaNotFoundError, match=f"{registry.url}.*id 2147483647.*{orders.topic}.*offset 0"):
        orders.open().scan().to_arrow()


def test_a_schema_of_another_format(orders: Lake, registry: SchemaRegistryServer) -> None:
    number = register(registry.url, unique("other"), "AVRO", '"string"')
    produce(orders.bootstrap, orders.topic, [b"\0" + number.to_bytes(4, "big") + b"\x02a"])

    with pytest.raises(SchemaMismatchError, match=f"schema id {number} is Avro"):
        orders.open().scan().to_arrow()


def test_a_registry_that_stops_in_between(lake: MakeLake, tmp_path: Path) -> None:
    with SchemaRegistryServer.start(tmp_path) as own:
        made = lake(schema=ORDERS, partitions=1)
        made = made.having(valueFormat="json_schema", **{"schema.registry.url": own.url})
        known = in_json_schema(own.url, made.topic, version("id"), [{"id": n} for n in range(2)])
        other = in_json_schema(own.url, made.topic, version("id", "note"), [{"id": 2}])
        produce(made.bootstrap, made.topic, known[:1])
        assert answers(made, "id") == [[0]]

    produce(made.bootstrap, made.topic, known[1:])
    assert answers(made, "id") == [[0], [1]]

    produce(made.bootstrap, made.topic, other)
    with pytest.raises(RegistryUnavailableError, match="offset 2") as caught:
        made.open().scan().to_arrow()
    assert caught.value.retriable


@contextmanager
def guarded(url: str, user_info: str) -> Iterator[SmallRegistry]:
    """A door before a registry that lets in one user only."""
    wanted = "Basic " + base64.b64encode(user_info.encode()).decode()

    def pass_on(handler: BaseHTTPRequestHandler) -> bool:
        if handler.headers.get("Authorization") != wanted:
            reply(handler, 401, b'{"error_code": 401, "message": "Unauthorized"}')
            return True
        with urllib.request.urlopen(url + handler.path, timeout=30) as answer:
            reply(handler, answer.status, answer.read())
        return True

    with small_registry() as door:
        door.before = pass_on
        yield door


def test_a_registry_that_wants_a_password(
    orders: Lake, registry: SchemaRegistryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    produce(
        orders.bootstrap, orders.topic, in_json_schema(registry.url, orders.topic, version("id"), [{"id": 7}])
    )
    with guarded(registry.url, "reader:pass:word") as door:
        monkeypatch.setenv("REGISTRY_USER", "reader:pass:word")
        monkeypatch.setenv("STRANGER", "reader:guess")
        user_info = "schema.registry.basic.auth.user.info"
        made = orders.having(**{"schema.registry.url": door.url, user_info: "${env:REGISTRY_USER}"})

        assert answers(made, "id") == [[7]]
        with pytest.raises(RegistryAccessError, match=door.url) as caught:
            made.having(**{user_info: "${env:STRANGER}"}).open().scan().to_arrow()
        assert "guess" not in str(caught.value)
