"""Make a table of a given shape on Spark, and hold what is read of it against what Spark reads.

Rows are compared as a whole and without an order, in the types that are read here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog

from coldset import ParquetScan, PinnedTable, open_catalog, pin, plan_parquet_scan
from federation.definition import merge_options
from federation.engine import run_query
from stack.spark_writer import SparkWriter
from tests.builders import unique
from tests.coldset.shapes import DeleteByKey, Step
from tests.coldset.tables import catalog_properties


@dataclass(frozen=True)
class SparkTable:
    """A table that Iceberg's runtime on Spark fills."""

    writer: SparkWriter
    directory: Path
    name: str

    @property
    def catalog(self) -> Catalog:
        return open_catalog("lake", catalog_properties(self.directory))

    def run(self, steps: Iterable[Step]) -> None:
        file = self.directory / "catalog.db"
        for step in steps:
            if isinstance(step, DeleteByKey):
                self.writer.delete_by_key(
                    file, table=self.name, keys=step.keys, column=step.column, value=step.value, **step.more
                )
            else:
                self.writer.sql(file, step.format(t=f"lake.{self.name}", name=self.name, dir=self.directory))

    def pin(self) -> PinnedTable:
        return pin(self.catalog, self.name)

    @property
    def options(self) -> dict[str, str]:
        """Read options for this table alone, without a topic."""
        properties = catalog_properties(self.directory)
        return {
            "read": "cold",
            "catalog.name": "lake",
            **{f"catalog.{key}": value for key, value in properties.items()},
        }

    def ask(self, statement: str) -> pa.Table:
        """What the engine answers; `{t}` is the table."""
        return run_query(
            statement.format(t=self.name), {self.name: merge_options(self.name, self.options, {})}
        ).rows

    def scan(self) -> ParquetScan | None:
        """How the engine reads the table."""
        return plan_parquet_scan(self.pin(), {})

    def as_spark_reads_it(self) -> pa.Table:
        return self.writer.rows(self.directory / "catalog.db", f"SELECT * FROM lake.{self.name}")


def new_table(writer: SparkWriter, directory: Path) -> SparkTable:
    """A table that is not there yet, in a catalog of its own."""
    open_catalog("lake", catalog_properties(directory)).create_namespace_if_not_exists("shapes")
    return SparkTable(writer, directory, f"shapes.{unique('t')}")


def as_sorted(table: pa.Table) -> list[str]:
    """The rows as text, which tells 0.0 from -0.0 and holds what is no number to be alike."""
    return sorted(repr([_plain(value) for value in row.values()]) for row in table.to_pylist())


def _plain(value: Any) -> Any:
    if isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
        return sorted((repr(key), _plain(item)) for key, item in value)  # a map has no order
    return value
