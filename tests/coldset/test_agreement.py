"""Whatever shape Iceberg's runtime gives a table, what is read here is what Spark's Iceberg reader reads.

What is not read here is refused by name, and what is damaged is an error.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from coldset.errors import ColdReadError, ColdsetError, UnsupportedTableError
from stack.spark_writer import SparkWriter
from tests.coldset.agreement import agree, as_sorted, new_table
from tests.coldset.shapes import MERGE_ON_READ, SHAPES, rows
from tests.coldset.shapes import table as made
from tests.coldset.tables import read

pytestmark = [pytest.mark.spark]


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_are_those_that_spark_reads(shape: str, spark_writer: SparkWriter, tmp_path: Path) -> None:
    table = new_table(spark_writer, tmp_path)
    table.run(SHAPES[shape])
    found, spark = read(table.pin()), table.as_spark_reads_it()

    assert as_sorted(found) == as_sorted(spark.cast(found.schema))
    assert agree(found, spark)
    for column in found.schema.names:
        assert as_sorted(read(table.pin(), column)) == as_sorted(found.select([column]))


def test_a_format_that_is_not_read_is_refused_by_name(spark_writer: SparkWriter, tmp_path: Path) -> None:
    table = new_table(spark_writer, tmp_path)
    table.run([made("id BIGINT", write_format_default="avro"), rows(0, 3)])

    with pytest.raises(UnsupportedTableError, match="avro"):
        read(table.pin())


def test_a_column_of_a_type_that_is_not_read_is_refused_by_name(
    spark_writer: SparkWriter, tmp_path: Path
) -> None:
    table = new_table(spark_writer, tmp_path)
    table.run([made("id BIGINT, v VARIANT", version=3)])

    with pytest.raises(ColdsetError, match="variant"):
        table.pin().arrow_schema  # noqa: B018 - asking is the test


def test_a_damaged_deletion_vector_is_an_error_that_names_the_file(
    spark_writer: SparkWriter, tmp_path: Path
) -> None:
    table = new_table(spark_writer, tmp_path)
    table.run([made("id BIGINT", version=3, **MERGE_ON_READ), rows(0, 20), "DELETE FROM {t} WHERE id = 7"])
    [vectors] = tmp_path.rglob("*.puffin")
    whole = vectors.read_bytes()

    for damaged in (whole[:20], whole[:20] + b"\xff" + whole[21:], b""):
        vectors.write_bytes(damaged)
        with pytest.raises(ColdReadError, match="vector"):
            read(table.pin())
