"""FORMATS.md, cell by cell: through the gateway and through Spark, from the table and from the topic.

Each format has one table with a column for each cell. One record is committed and the same one is in
the topic only, so both halves have to give the same values; of nanoseconds both are in the topic.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from hotset.decode.avro.conversions import CONVERSIONS
from stack.registry import SchemaRegistryServer
from tests.builders import Lake, commit_until, in_version_3, produce
from tests.conftest import MakeLake
from tests.formats.avro_cells import AVRO_CELLS, record_of
from tests.formats.columns import COLUMNS, Cell
from tests.formats.json_cells import JSON_CELLS, UUID
from tests.formats.page import conversions_under, table_under
from tests.formats.protobuf_cells import PROTOBUF_CELLS, message_of
from tests.registry.serializers import in_avro, in_json_schema, in_protobuf
from tests.sql_gateway.door import open_door, query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

kafka, registry, spark = pytest.mark.kafka, pytest.mark.registry, pytest.mark.spark

Encode = Callable[[str, str, Sequence[Cell]], bytes]


def name(number: int) -> str:
    return f"c{number}"


def as_json(_url: str, _topic: str, cells: Sequence[Cell]) -> bytes:
    return json.dumps({name(n): cell.written for n, cell in enumerate(cells)}).encode()


def as_json_schema(url: str, topic: str, cells: Sequence[Cell]) -> bytes:
    schema = {"title": "Row", "type": "object", "properties": {}}
    [payload] = in_json_schema(url, topic, json.dumps(schema), [json.loads(as_json(url, topic, cells))])
    return payload


def as_avro(url: str, topic: str, cells: Sequence[Cell]) -> bytes:
    schema, row = record_of(cells)
    [payload] = in_avro(url, topic, schema, [row])
    return payload


def as_protobuf(url: str, topic: str, cells: Sequence[Cell]) -> bytes:
    [payload] = in_protobuf(url, topic, [message_of(cells)])
    return payload


def as_it_is(_url: str, _topic: str, cells: Sequence[Cell]) -> bytes:
    [cell] = cells
    assert isinstance(cell.written, bytes)
    return cell.written


TEXT = [Cell("string: UTF-8 text", "string", "é\n".encode(), "é\n")]
BYTES = [Cell("bytes: bytes", "binary", b"\0\xff", b"\0\xff")]
FIXED = [Cell("bytes: bytes", "fixed", bytes(range(16)), bytes(range(16)))]
UUID_TEXT = [Cell("string: UTF-8 text", "uuid", str(UUID).upper().encode(), UUID)]
UUID_BYTES = [Cell("bytes: bytes", "uuid", UUID.bytes, UUID)]


def split(
    format_name: str, cells: Sequence[Cell], encode: Encode
) -> dict[str, tuple[str, list[Cell], Encode]]:
    """A table of cells, and one of those in nanoseconds, which not every table can have."""
    fine = [cell for cell in cells if cell.column.endswith("_ns")]
    coarse = [cell for cell in cells if cell not in fine]
    return {
        format_name: (format_name, coarse, encode),
        f"{format_name} in nanoseconds": (format_name, fine, encode),
    }


# Per table: the format, its cells, and how a record of them is made.
TABLES: dict[str, tuple[str, list[Cell], Encode]] = {
    **split("json", JSON_CELLS, as_json),
    **split("json_schema", JSON_CELLS, as_json_schema),
    **split("avro", AVRO_CELLS, as_avro),
    **split("protobuf", PROTOBUF_CELLS, as_protobuf),
    "string": ("string", TEXT, as_it_is),
    "bytes": ("bytes", BYTES, as_it_is),
    "bytes in a fixed column": ("bytes", FIXED, as_it_is),
    "string in a column of UUIDs": ("string", UUID_TEXT, as_it_is),
    "bytes in a column of UUIDs": ("bytes", UUID_BYTES, as_it_is),
}
PAGE: dict[str, list[Cell]] = {
    "JSON": JSON_CELLS,
    "Avro": AVRO_CELLS,
    "Protobuf": PROTOBUF_CELLS,
    "Text and bytes": [*TEXT, *BYTES, *FIXED, *UUID_TEXT, *UUID_BYTES],
}


@pytest.fixture(scope="module", params=TABLES)
def filled(
    request: pytest.FixtureRequest, lake: MakeLake, registry: SchemaRegistryServer
) -> tuple[Lake, list[Cell]]:
    """A table of one format, and its cells."""
    format_name, cells, encode = TABLES[request.param]
    # The types that tables of format version 2 have for those of version 3.
    is_fine = all(cell.column.endswith("_ns") for cell in cells)
    columns = [cell.column.removesuffix("_ns") for cell in cells]
    schema = pa.schema([(name(n), COLUMNS[column].arrow) for n, column in enumerate(columns)])
    made = lake(schema=schema, partitions=1).having(
        valueFormat=format_name, **{"schema.registry.url": registry.url}
    )
    payload = encode(registry.url, made.topic, cells)
    produce(made.bootstrap, made.topic, [payload])
    if is_fine:
        in_version_3(made)
    else:
        commit_until(made)
    produce(made.bootstrap, made.topic, [payload])
    return made, cells


@pytest.mark.parametrize("heading", PAGE)
def test_the_page_has_the_cells_that_are_tried_here(heading: str) -> None:
    assert conversions_under(heading) == {(cell.kind, cell.column) for cell in PAGE[heading]}


def test_the_page_has_the_table_of_avro_that_the_code_has() -> None:
    told = dict(row for row in table_under("Avro") if row[0] in CONVERSIONS)

    def with_note(column: str, note: str) -> str:
        return column if note == "as it is" else f"{column} ({note})"

    assert told == {
        kind: ", ".join(with_note(column, note) for column, (note, _) in columns.items()) or "refused"
        for kind, columns in CONVERSIONS.items()
    }


def test_the_page_has_the_columns_that_are_tried_here() -> None:
    told = {iceberg: (arrow, spark) for iceberg, arrow, spark, _ in table_under("Columns")}

    def plain(text: str) -> str:
        return text.partition("<")[0].partition("(")[0]

    def arrow(kind: pa.DataType) -> str:
        if isinstance(kind, pa.BaseExtensionType):
            return kind.extension_name
        return "fixed_size_binary" if pa.types.is_fixed_size_binary(kind) else plain(str(kind))

    assert told == {
        each: (arrow(column.arrow), plain(column.spark or "refused")) for each, column in COLUMNS.items()
    }


@kafka
@registry
@pytest.mark.usefixtures("way")
def test_the_gateway_gives_each_cell_in_either_way(filled: tuple[Lake, list[Cell]]) -> None:
    made, cells = filled

    # What one way has decoded must not be kept for the other.
    body = query(open_door(made.having(hotStore="off")), f"select * from {made.table}")

    wanted = [COLUMNS[cell.column].in_json(cell.value) for cell in cells]
    assert len(body["rows"]) == 2
    for row in body["rows"]:
        for cell, expected, found in zip(cells, wanted, row, strict=True):
            assert (found, type(found)) == (expected, type(expected)), cell


@kafka
@registry
@spark
def test_spark_gives_each_cell(spark: SparkSession, filled: tuple[Lake, list[Cell]]) -> None:
    made, cells = filled
    kept = {name(n): cell for n, cell in enumerate(cells) if COLUMNS[cell.column].spark is not None}
    if not kept:
        with pytest.raises(Exception, match="'c0' counts nanoseconds, which Spark cannot read"):
            spark.read.format("kafkaiceberg").options(**made.options).load(made.table)
        return
    options = {**made.options, "columns": ",".join(kept)}

    rows = spark.read.format("kafkaiceberg").options(**options).load(made.table)

    assert dict(rows.dtypes) == {each: COLUMNS[cell.column].spark for each, cell in kept.items()}
    found = [row.asDict() for row in rows.collect()]
    assert len(found) == 2
    for row in found:
        for each, cell in kept.items():
            assert row[each] == COLUMNS[cell.column].in_spark(cell.value), cell
