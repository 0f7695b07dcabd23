"""Whatever shape Iceberg's runtime gives a table, what is read here is what Spark's Iceberg reader reads.

What is not read here is refused by name, and what is damaged is an error.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from coldset.errors import ColdReadError
from coldset.files.duckdb_sql import quoted
from stack.errors import StackError
from tests.coldset.agreement import SparkTable, as_sorted, as_typed, new_table, on_sites
from tests.coldset.corners import CORNERS
from tests.coldset.rare_types import RARE_TYPES
from tests.coldset.shapes import MERGE_ON_READ, SHAPES, Edit, rows
from tests.coldset.shapes import table as made
from tests.coldset.tables import read
from tests.fixtures.stage_fixtures import LIVE
from tests.fixtures.staged_writers import StagedSpark

ALL = {**SHAPES, **CORNERS, **RARE_TYPES}

# One of each kind, which Spark reads through our source, too; on a live stage it reads all of them.
TELLING = {
    "columns are added, renamed, dropped and named anew",
    "fields of structs, lists and maps change",
    "the spec changes and changes back",
    "rows are deleted by position, in partitions",
    "deletion vectors grow, over older deletes",
    "keys are of columns that have changed since",
    "everything at once, and compacted",
    "columns came with defaults",
}


@on_sites
@pytest.mark.parametrize(
    "shape", [pytest.param(shape, marks=[pytest.mark.spark] if shape in TELLING else []) for shape in ALL]
)
def test_every_reader_has_the_rows_that_spark_reads(
    shape: str, spark_table: SparkTable, request: pytest.FixtureRequest
) -> None:
    table = spark_table
    if any(name.startswith("s3.") for name in table.properties) and any(
        "add_files" in str(step) for step in ALL[shape]
    ):
        pytest.skip("Spark imports files with a Hadoop file system, of which there is none for s3 here")
    table.run(ALL[shape])
    found, wanted = table.read(), table.as_spark_reads_it()
    answer = table.ask("SELECT * FROM {t}")

    assert found.schema.names == wanted.schema.names
    assert as_sorted(found) == as_sorted(as_typed(wanted, found.schema))
    assert as_sorted(answer) == as_sorted(found)
    assert table.ask("SELECT count(*) AS n FROM {t}").column("n").to_pylist() == [found.num_rows]
    for column in found.schema.names:
        assert as_sorted(table.read(column)) == as_sorted(found.select([column]))
        assert as_sorted(table.ask(f"SELECT {quoted(column)} FROM {{t}}")) == as_sorted(
            found.select([column])
        )
    if shape in TELLING or request.node.callspec.params["stage"] == LIVE:
        on_spark = request.getfixturevalue("spark").read.format("kafkaiceberg").options(**table.options)
        assert as_sorted(as_typed(on_spark.load(table.name).toArrow(), found.schema)) == as_sorted(found)


def test_the_engine_reads_most_shapes_itself(spark_writer: StagedSpark, tmp_path: Path) -> None:
    """Else the other tests would say nothing of its scan."""
    table = new_table(spark_writer, tmp_path)
    table.run(SHAPES["everything at once, and compacted"])
    scan = table.scan()

    assert scan is not None
    assert scan.rows > 0
    assert scan.rest
    assert any(group.deleted for group in scan.groups)


def test_a_damaged_deletion_vector_is_an_error_that_names_the_file(
    spark_writer: StagedSpark, tmp_path: Path
) -> None:
    table = new_table(spark_writer, tmp_path)
    table.run([made("id BIGINT", version=3, **MERGE_ON_READ), rows(0, 20), "DELETE FROM {t} WHERE id = 7"])
    [vectors] = tmp_path.rglob("*.puffin")
    whole = vectors.read_bytes()

    for damaged in (whole[:20], whole[:20] + b"\xff" + whole[21:], b""):
        vectors.write_bytes(damaged)
        with pytest.raises(ColdReadError, match="vector"):
            read(table.pin())


def test_positions_that_are_filed_under_another_partition_are_an_error_to_every_reader(
    spark_writer: StagedSpark, tmp_path: Path
) -> None:
    table = new_table(spark_writer, tmp_path)
    of_p0 = {"column": "p", "named": "p0", "positions": [0, 3]}
    table.run(
        [
            made("id BIGINT, p STRING", partitioned="p"),
            "INSERT INTO {t} SELECT id, concat('p', id % 2) FROM range(20)",
            Edit("delete_positions", {**of_p0, "filed": "p0"}),
        ]
    )
    assert as_sorted(table.read()) == as_sorted(table.as_spark_reads_it())
    assert table.read().num_rows == 18

    table.run([Edit("delete_positions", {**of_p0, "filed": "p1"})])

    with pytest.raises(StackError, match="Mismatched partition"):
        table.as_spark_reads_it()
    with pytest.raises(ColdReadError, match="another partition"):
        table.read()
