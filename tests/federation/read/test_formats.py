"""Topics in formats other than JSON, read as one with their tables; and options that contradict.

Each format in all its types is tested where it lives; here is the way through options, cut and plan.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator

import pyarrow as pa
import pytest

from federation.cut.take import take_cut
from federation.errors import OptionError
from federation.options.table_definition import define, merge_options
from federation.plan import answer_schema, plan_hot
from hotset.decode.formats import FORMATS
from hotset.errors import RegistryAccessError, RegistryConfigError, UnsupportedFormatError
from tests.builders import commit_until, produce, send
from tests.conftest import MakeLake
from tests.hotset.small_registry import SmallRegistry, small_registry
from tests.sql_gateway.door import open_door, query

SECRET = "reader:canary-4711-secret"
LINES = pa.schema(
    [pa.field("line", pa.string()), pa.field("kafka_partition", pa.int32()), pa.field("o", pa.int64())]
)
ORDERS = pa.schema([pa.field("id", pa.string()), pa.field("amount", pa.int64())])
COORDINATES = {"kafkaColumns": "partition=kafka_partition,offset=o"}


@pytest.fixture
def registry() -> Iterator[SmallRegistry]:
    with small_registry() as running:
        running.knows("/schemas/ids/1", "{}", "JSON")
        running.knows("/schemas/ids/2", "{}", "JSON")
        yield running


@pytest.mark.kafka
def test_lines_of_text_are_rows_with_their_coordinates(lake: MakeLake) -> None:
    made = lake(schema=LINES, partitions=1).having(valueFormat="string", **COORDINATES)
    produce(made.bootstrap, made.topic, [b"a", b"b"])
    commit_until(made)
    produce(made.bootstrap, made.topic, [b"c", "ü".encode()])

    rows = query(open_door(made), f"select line, o from {made.table} order by o")["rows"]

    assert rows == [["a", 0], ["b", 1], ["c", 2], ["ü", 3]]
    assert made.sql(f"select count(*) n from {made.table}").rows.to_pylist() == [{"n": 4}]


@pytest.mark.kafka
def test_text_for_two_columns_is_refused_before_it_is_read(lake: MakeLake) -> None:
    made = lake(schema=LINES, partitions=1).having(valueFormat="string", kafkaColumns="none")
    produce(made.bootstrap, made.topic, [b"a"])

    with pytest.raises(UnsupportedFormatError, match="exactly one column, and there are 3"):
        made.sql(f"select line from {made.table}")


@pytest.mark.kafka
def test_keys_fill_their_columns(lake: MakeLake) -> None:
    made = lake(schema=ORDERS).having(keyFormat="string", keyFields="id")
    send(made.bootstrap, made.topic, [(b"k0", b'{"amount": 0}', [])])
    commit_until(made)
    send(
        made.bootstrap, made.topic, [(b"k1", b'{"amount": 1, "id": "no"}', []), (None, b'{"amount": 2}', [])]
    )

    found = made.open().scan().to_arrow().sort_by("amount").to_pylist()

    assert found == [{"id": "k0", "amount": 0}, {"id": "k1", "amount": 1}, {"id": None, "amount": 2}]
    assert made.sql(f"select sum(amount) s from {made.table}").rows.to_pylist() == [{"s": 3}]
    assert made.sql(f"select max(id) m from {made.table}").rows.to_pylist() == [{"m": "k1"}]


@pytest.mark.kafka
def test_records_that_name_their_schema_are_read_with_credentials_by_reference(
    lake: MakeLake, registry: SmallRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = lake(schema=ORDERS, partitions=1).having(
        valueFormat="json_schema",
        **{"schema.registry.url": registry.url, "schema.registry.basic.auth.user.info": "${env:CANARY}"},
    )
    monkeypatch.setenv("CANARY", SECRET)
    header = ("__value_schema_id", b"\0\0\0\0\2")
    send(made.bootstrap, made.topic, [(None, b'\0\0\0\0\1{"amount": 0}', [])])
    commit_until(made)
    send(
        made.bootstrap,
        made.topic,
        [(None, b'\0\0\0\0\2{"amount": 1}', []), (None, b'{"amount": 2}', [header])],
    )

    assert made.open().scan().to_arrow()["amount"].to_pylist() == [0, 1, 2]
    assert set(registry.authorizations) == {"Basic cmVhZGVyOmNhbmFyeS00NzExLXNlY3JldA=="}
    taken = take_cut(made.merged())
    [split] = plan_hot(taken, answer_schema(taken), spread=False)
    for shown in (repr(split), repr(taken.definition), pickle.dumps(split).decode("latin-1")):
        assert SECRET not in shown
        assert registry.authorizations[0] not in shown
    assert "CANARY" in pickle.dumps(split).decode("latin-1")


@pytest.mark.kafka
def test_a_registry_that_refuses_is_told_and_no_secret_is_shown(
    lake: MakeLake, registry: SmallRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY", SECRET)
    made = lake(schema=ORDERS, partitions=1).having(
        valueFormat="json_schema",
        **{"schema.registry.url": registry.url, "schema.registry.basic.auth.user.info": "${env:CANARY}"},
    )
    produce(made.bootstrap, made.topic, [b'\0\0\0\0\1{"amount": 0}'])
    registry.answers["/schemas/ids/1"] = (403, {"error_code": 40301, "message": "no"})

    with pytest.raises(RegistryAccessError, match=r"partition 0 offset 0") as caught:
        made.sql(f"select * from {made.table}")

    assert SECRET not in repr(caught.value) + str(caught.value.details)


GIVEN = {"subscribe": "t", "kafka.bootstrap.servers": "b:1"}
URL = {"schema.registry.url": "http://r:8081"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keyFormat": "json"}, "go together"),
        ({"keyFields": "a"}, "go together"),
        ({"keyFormat": "json", "keyFields": "a,b,a"}, "twice"),
        ({"keyFormat": "xml", "keyFields": "a"}, "is one of"),
        ({"valueFormat": "avro", "readerSchema": "newest"}, "none, latest or a schema id"),
        ({"valueFormat": "avro", "readerSchema": str(1 << 32)}, "none, latest or a schema id"),
        ({"valueFormat": "protobuf", "readerSchema": "latest"}, "for valueFormat=avro"),
    ],
)
def test_options_that_contradict_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        define(merge_options("lake.t", {**GIVEN, **options}, {}), {})


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("json", "string", "bytes")])
def test_formats_with_schemas_need_a_registry(name: str) -> None:
    for options in ({"valueFormat": name}, {"keyFormat": name, "keyFields": "a"}):
        with pytest.raises(RegistryConfigError, match=r"set schema\.registry\.url"):
            define(merge_options("lake.t", {**GIVEN, **options}, {}), {})
        assert define(
            merge_options("lake.t", {**GIVEN, **URL, **options}, {}), {}
        ).record_format.needs_registry


def test_a_property_that_is_not_of_a_registry_is_refused() -> None:
    options = {**GIVEN, **URL, "valueFormat": "json_schema", "schema.registry.proxy": "http://evil"}

    with pytest.raises(RegistryConfigError, match=r"schema\.registry\.proxy is not among"):
        define(merge_options("lake.t", options, {}), {})


def test_a_table_cannot_say_where_its_registry_is() -> None:
    properties = {
        "kafkaiceberg.valueFormat": "json_schema",
        "kafkaiceberg.schema.registry.url": "http://evil",
    }

    with pytest.raises(RegistryConfigError, match=r"set schema\.registry\.url"):
        define(merge_options("lake.t", GIVEN, {}), properties)


def test_a_table_may_say_how_its_records_are_encoded() -> None:
    properties = {"kafkaiceberg.keyFormat": "string", "kafkaiceberg.keyFields": "id"}

    found = define(merge_options("lake.t", GIVEN, {}), properties).record_format

    assert (found.value, found.key, found.key_fields) == ("json", "string", ("id",))
    assert json.loads(json.dumps(found.registry)) == []
