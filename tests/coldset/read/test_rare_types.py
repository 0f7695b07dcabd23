"""Types that few engines have: read exactly where a reader has a type for them, and else refused by name."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING
from uuid import UUID

import pyarrow as pa
import pytest
from pyiceberg.schema import Schema

from coldset.errors import UnsupportedTableError
from coldset.plan.parquet_scan import plan_parquet_scan
from coldset.table.catalog import pin
from federation.engine.run.query import run_query
from federation.errors import OptionError
from federation.options.table_definition import merge_options
from tests.coldset.agreement import SparkTable, new_table
from tests.coldset.rare_types import schema
from tests.coldset.shapes import Edit
from tests.coldset.shapes import table as made
from tests.coldset.tables import TABLE, add_file, catalog_properties, make_catalog, read_now
from tests.fixtures.staged_writers import StagedSpark

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

NANOSECONDS = 1_577_836_800_123_456_789
TEXT = "2020-01-01T00:00:00.123456789"


@pytest.fixture
def table(spark_writer: StagedSpark, tmp_path: Path) -> SparkTable:
    return new_table(spark_writer, tmp_path)


@pytest.mark.spark
def test_nanoseconds_and_times_of_day_are_read_to_the_last_digit(
    table: SparkTable, spark: SparkSession
) -> None:
    """Neither of which Spark has a type for, so Iceberg's Java library writes them."""
    columns = schema("id int", "a timestamp_ns", "b timestamptz_ns", "t time")
    table.run(
        [
            Edit("make_table", {"schema": columns, "properties": {"format-version": "3"}}),
            Edit(
                "append",
                {
                    "rows": [
                        [
                            1,
                            ("java.time.LocalDateTime", TEXT),
                            ("java.time.OffsetDateTime", f"{TEXT}Z"),
                            ("java.time.LocalTime", "23:59:59.999999"),
                        ],
                        [2, None, None, None],
                    ]
                },
            ),
        ]
    )

    found = table.read()
    answer = table.ask(
        "SELECT id, typeof(a), a::VARCHAR AS a, b = TIMESTAMPTZ_NS '2020-01-01 00:00:00.123456789Z' AS b, t "
        "FROM {t} WHERE a > TIMESTAMP '2020-01-01 00:00:00.123456'"
    )

    assert [str(kind) for kind in found.schema.types[1:]] == [
        "timestamp[ns]",
        "timestamp[ns, tz=UTC]",
        "time64[us]",
    ]
    for name in ("a", "b"):
        assert found.column(name).cast(pa.int64()).to_pylist() == [NANOSECONDS, None]
    assert found.column("t").to_pylist() == [dt.time(23, 59, 59, 999999), None]
    assert [list(row.values()) for row in answer.to_pylist()] == [
        [1, "TIMESTAMP_NS", TEXT.replace("T", " "), True, dt.time(23, 59, 59, 999999)]
    ]
    with pytest.raises(Exception, match=r"'a' counts nanoseconds, which Spark cannot read"):
        spark.read.format("kafkaiceberg").options(**table.options).load(table.name)


@pytest.mark.parametrize(
    ("kind", "steps"),
    [
        ("variant", [made("id BIGINT, v VARIANT", version=3)]),
        *(
            (
                kind,
                [
                    Edit(
                        "make_table",
                        {"schema": schema("id long", f"v {kind}"), "properties": {"format-version": "3"}},
                    )
                ],
            )
            for kind in ("geometry", "geography", "unknown")
        ),
    ],
)
def test_a_column_of_a_type_that_is_not_read_is_refused_by_name(
    table: SparkTable, kind: str, steps: list[Edit | str]
) -> None:
    table.run(steps)

    with pytest.raises(UnsupportedTableError, match=kind):
        table.pin().arrow_schema  # noqa: B018 - asking is the test
    with pytest.raises(UnsupportedTableError, match=kind):
        table.ask("SELECT id FROM {t}")


def test_spark_is_told_what_it_has_no_type_for() -> None:
    from federation.spark.spark_schema import spark_schema

    for kind, what in ((pa.time64("us"), "time of day"), (pa.timestamp("ns"), "nanoseconds")):
        with pytest.raises(OptionError, match=rf"'s\.x'.*{what}"):
            spark_schema(pa.schema([("s", pa.struct([("x", kind)]))]))


@pytest.mark.parametrize("is_told", [True, False])
def test_the_engine_scans_identifiers_and_bytes_of_one_length(tmp_path: Path, is_told: bool) -> None:
    """Also where a file does not say that its sixteen bytes are an identifier."""
    catalog = make_catalog(tmp_path)
    columns = schema("id long", "u uuid", "f fixed[3]")
    catalog.create_table(TABLE, schema=Schema.model_validate_json(columns))
    plain = pa.schema([("id", pa.int64()), ("u", pa.binary(16)), ("f", pa.binary(3))])
    ids = pa.schema([each.with_metadata({"PARQUET:field_id": str(n)}) for n, each in enumerate(plain, 1)])
    rows = pa.table({"id": [1, 2], "u": [UUID(int=5).bytes, None], "f": [b"abc", None]}, ids)
    if is_told:
        catalog.load_table(TABLE).append(rows.set_column(1, "u", rows["u"].cast(pa.uuid())))
    else:
        add_file(catalog, tmp_path / "elsewhere.parquet", rows)
    properties = {f"catalog.{key}": value for key, value in catalog_properties(tmp_path).items()}
    options = merge_options(TABLE, {"read": "cold", "catalog.name": "cold", **properties}, {})

    scan = plan_parquet_scan(pin(catalog, TABLE), {})
    answer = run_query(f"SELECT *, typeof(u) AS t FROM {TABLE} ORDER BY id", {TABLE: options})

    assert scan is not None
    assert scan.rest == ()
    assert answer.values() == [[1, 2], [str(UUID(int=5)), None], [b"abc", None], ["UUID", "UUID"]]
    assert read_now(catalog).column("u").to_pylist() == [UUID(int=5), None]
