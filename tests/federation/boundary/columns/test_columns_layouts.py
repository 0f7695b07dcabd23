"""The columns in which known writers keep where a record came from, recognised by their names.

A recognised table needs no option: its boundary comes from these columns, and hot rows carry them filled
as the writer would have filled them. What a record does not tell is an error for who asks for it.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from confluent_kafka import Producer

from federation.boundary.columns.layouts import KNOWN, layout_of
from federation.errors import BoundaryUnknownError, OptionError
from federation.options.table_definition import TableDefinition, define
from hotset.errors import UnsupportedFormatError
from tests.builders import Lake
from tests.conftest import MakeLake

INT, LONG, TEXT, BYTES = pa.int32(), pa.int64(), pa.string(), pa.binary()
TIME = pa.timestamp("us", tz="UTC")
# Of now, or retention would remove what is sent.
WHEN_MS = time.time_ns() // 1_000_000
HEADERS = pa.list_(pa.field("element", pa.struct([("key", TEXT), ("value", BYTES)])))
REDPANDA = pa.struct(
    [
        ("partition", INT),
        ("timestamp", TIME),
        ("offset", LONG),
        ("headers", HEADERS),
        ("key", BYTES),
        ("timestamp_type", INT),
    ]
)

LAYOUTS: dict[str, list[tuple[str, pa.DataType]]] = {
    "connect": [
        ("_kafka_metadata_topic", TEXT),
        ("_kafka_metadata_partition", LONG),
        ("_kafka_metadata_offset", LONG),
        ("_kafka_metadata_timestamp", LONG),
    ],
    "connect_nested": [
        (
            "_kafka_metadata",
            pa.struct([("topic", TEXT), ("partition", INT), ("offset", LONG), ("timestamp", LONG)]),
        )
    ],
    "automq": [
        ("_kafka_metadata", pa.struct([("partition", INT), ("offset", LONG), ("timestamp", LONG)])),
        ("_kafka_key", BYTES),
    ],
    "redpanda": [("redpanda", REDPANDA)],
    "tableflow": [("$$topic", TEXT), ("$$partition", INT), ("$$offset", LONG), ("$$raw-key", BYTES)],
    "tableflow_portable": [
        ("cflt_metadata_topic", TEXT),
        ("cflt_metadata_partition", INT),
        ("cflt_metadata_offset", LONG),
    ],
    "aiven": [("kafka", pa.struct([("partition", INT), ("offset", LONG), ("timestamp", LONG)]))],
    "streambased": [("kafka_partition", INT), ("kafka_offset", LONG), ("kafka_timestamp", TIME)],
}


def schema_of(layout: str) -> pa.Schema:
    return pa.schema([("seq", LONG), *LAYOUTS[layout]])


def definition(**options: str) -> TableDefinition:
    return define({"path": "lake.t", "read": "cold", **options}, {})


def told(field: str, kind: pa.DataType, topic: str, offset: int) -> Any:
    """What a writer puts into a column of that kind, for the record at an offset of partition 1."""
    if pa.types.is_struct(kind):
        return {child.name: told(child.name, child.type, topic, offset) for child in kind}
    if field.endswith("timestamp"):
        return WHEN_MS + offset if kind == LONG else pa.scalar((WHEN_MS + offset) * 1000, TIME).as_py()
    ends = {
        "topic": topic,
        "partition": 1,
        "offset": offset,
        "headers": [{"key": "h", "value": b"1"}, {"key": "h", "value": None}],
        "key": f"k{offset}".encode(),
        "timestamp_type": 0,
    }
    return next(value for end, value in ends.items() if field.endswith(end))


def send(lake: Lake, offsets: range) -> None:
    producer = Producer({"bootstrap.servers": lake.bootstrap, "log_level": 0})
    for offset in offsets:
        producer.produce(
            lake.topic,
            f'{{"seq": {offset}}}'.encode(),
            partition=1,
            key=f"k{offset}",
            timestamp=WHEN_MS + offset,
            headers=[("h", b"1"), ("h", None)],
        )
    assert producer.flush(60) == 0


def rows_of(layout: str, topic: str, offsets: range) -> list[dict[str, Any]]:
    return [
        {"seq": offset, **{name: told(name, kind, topic, offset) for name, kind in LAYOUTS[layout]}}
        for offset in offsets
    ]


@pytest.mark.kafka
@pytest.mark.parametrize("layout", LAYOUTS)
def test_hot_rows_of_a_known_layout_are_as_its_writer_writes_them(lake: MakeLake, layout: str) -> None:
    schema = schema_of(layout)
    made = lake(schema=schema)
    send(made, range(6))
    rows = rows_of(layout, made.topic, range(6))
    made.load().append(pa.Table.from_pylist(rows[:4], schema=schema))

    scan = made.open().scan()

    assert sorted(scan.to_arrow().to_pylist(), key=lambda row: row["seq"]) == rows
    assert (scan.receipt.rows_cold, scan.receipt.rows_hot) == (4, 2)
    assert scan.receipt.boundary is not None
    assert scan.receipt.boundary["resolver"] == "columns"
    assert made.sql(f"SELECT count(*) AS n FROM {made.table}").rows.to_pylist() == [{"n": 6}]


@pytest.mark.kafka
def test_a_declared_pair_may_be_inside_of_a_struct(lake: MakeLake) -> None:
    schema = pa.schema([("seq", LONG), ("meta", pa.struct([("part", INT), ("at", LONG)]))])
    made = lake(schema=schema).having(kafkaColumns="partition=meta.part,offset=meta.at")
    send(made, range(3))
    rows = [{"seq": n, "meta": {"part": 1, "at": n}} for n in range(3)]
    made.load().append(pa.Table.from_pylist(rows[:1], schema=schema))

    assert made.open().scan().to_arrow().to_pylist() == rows


@pytest.mark.kafka
def test_a_column_that_no_record_tells_is_an_error_for_who_asks_for_it(lake: MakeLake) -> None:
    schema = pa.schema([*schema_of("tableflow"), ("$$leader-epoch", INT), ("$$timestamp", TEXT)])
    made = lake(schema=schema)
    send(made, range(2))

    assert made.sql(f'SELECT "$$offset" AS o FROM {made.table} ORDER BY 1').rows["o"].to_pylist() == [0, 1]
    for column in ("$$leader-epoch", "$$timestamp"):
        with pytest.raises(UnsupportedFormatError, match=column.replace("$", r"\$")):
            made.sql(f'SELECT "{column}" FROM {made.table}')


@pytest.mark.kafka
def test_a_struct_with_more_than_records_tell_names_the_field(lake: MakeLake) -> None:
    more = pa.struct([*LAYOUTS["aiven"][0][1], ("batch_magic", INT)])
    made = lake(schema=pa.schema([("kafka", more), ("seq", LONG)]))
    send(made, range(2))

    assert made.sql(f"SELECT count(seq) AS n FROM {made.table}").rows.to_pylist() == [{"n": 2}]
    with pytest.raises(UnsupportedFormatError, match=r"kafka\.batch_magic"):
        made.open().scan().to_arrow()


@pytest.mark.kafka
def test_rows_of_another_topic_are_an_error_that_names_it(lake: MakeLake) -> None:
    schema = schema_of("connect")
    made = lake(schema=schema)
    send(made, range(4))
    rows = [*rows_of("connect", made.topic, range(2)), *rows_of("connect", "another", range(2))]
    made.load().append(pa.Table.from_pylist(rows, schema=schema))

    with pytest.raises(BoundaryUnknownError, match="'another'"):
        made.open().cut()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_layout_is_recognised_as_one(layout: str) -> None:
    found = layout_of(schema_of(layout), definition())

    assert found is not None
    assert {"partition", "offset"} <= set(found.paths)
    assert set(found.columns) == {name for name, _ in LAYOUTS[layout]}


def test_every_known_layout_is_tried_here() -> None:
    recognised = {found.name for name in LAYOUTS if (found := layout_of(schema_of(name), definition()))}

    assert recognised == {known.name for known in KNOWN}


@pytest.mark.parametrize(
    "fields",
    [
        [("seq", LONG)],
        [("kafka_partition", INT), ("kafka_offset", LONG)],
        [("kafka_partition", TEXT), ("kafka_offset", LONG), ("kafka_timestamp", LONG)],
        [("redpanda", TEXT)],
        [("redpanda", pa.struct([("partition", INT)]))],
        [("_kafka_metadata_partition", INT), ("_kafka_metadata_offset", pa.float64())],
    ],
)
def test_what_only_looks_like_a_layout_is_none(fields: list[tuple[str, pa.DataType]]) -> None:
    assert layout_of(pa.schema(fields), definition()) is None


def test_two_layouts_in_one_table_are_an_error_until_one_is_named() -> None:
    schema = pa.schema([*LAYOUTS["redpanda"], *LAYOUTS["streambased"]])

    with pytest.raises(OptionError, match="Redpanda and Streambased"):
        layout_of(schema, definition())
    named = layout_of(schema, definition(kafkaColumns="partition=kafka_partition,offset=kafka_offset"))
    assert named is not None
    assert set(named.columns) == {"kafka_partition", "kafka_offset"}
    assert layout_of(schema, definition(kafkaColumns="none")) is None


@pytest.mark.parametrize("wrong", ["partition=p", "partition=seq,offset=note", "partition=a.b"])
def test_declared_columns_that_do_not_fit_are_an_option_error(wrong: str) -> None:
    both = pa.struct([("b", INT)])
    schema = pa.schema([("seq", LONG), ("note", TEXT), ("a", both), ("a.b", INT)])

    with pytest.raises(OptionError, match="kafkaColumns"):
        layout_of(schema, definition(kafkaColumns=wrong))


def test_boundary_columns_of_a_table_without_any_is_an_option_error() -> None:
    plain = replace(definition(), recognises_columns=True)

    assert layout_of(pa.schema([("seq", LONG)]), plain) is None
