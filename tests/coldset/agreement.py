"""Make a table of a given shape on Spark, and hold what is read of it against what Spark reads.

Rows are compared as a whole and without an order, in the types that are read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog

from coldset.plan.parquet_scan import ParquetScan, plan_parquet_scan
from coldset.table.catalog import PinnedTable, open_catalog, pin
from coldset.table.storage import storage_of
from federation.engine.run.query import run_query
from federation.options.secrets import is_secret
from federation.options.table_definition import merge_options
from stack.objects import ObjectStore
from stack.rest_catalog import RestCatalog
from stack.spark_catalogs import Catalog as SparkCatalog
from stack.spark_catalogs import rest_settings
from tests.coldset.shapes import DeleteByKey, Edit, Step
from tests.coldset.sites import of_store
from tests.coldset.tables import catalog_properties, read
from tests.fixtures.staged_writers import StagedSpark

DISK: Final = "sqlite+disk"

# Where Spark makes a table: recorded, and live, which takes minutes for all.
on_sites = pytest.mark.parametrize(
    ("stage", "spark_table"),
    [
        ("recorded", DISK),
        *(pytest.param("live", site, marks=pytest.mark.long) for site in (DISK, "rest+s3")),
    ],
    indirect=True,
)


@dataclass(frozen=True)
class SparkTable:
    """A table that Iceberg's runtime on Spark fills.

    Attributes:
        writer: Who fills it.
        directory: A folder on this machine that is the table's own.
        name: Namespace and name.
        properties: How pyiceberg reaches its catalog and files.
        spark: How Spark does.
    """

    writer: StagedSpark
    directory: Path
    name: str
    properties: Mapping[str, str]
    spark: SparkCatalog

    @property
    def catalog(self) -> Catalog:
        return open_catalog("lake", self.properties)

    def run(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if isinstance(step, DeleteByKey):
                self.writer.delete_by_key(
                    self.spark,
                    table=self.name,
                    keys=step.keys,
                    column=step.column,
                    value=step.value,
                    **step.more,
                )
            elif isinstance(step, Edit):
                self.writer.edit(self.spark, step.name, table=self.name, **step.request)
            else:
                self.writer.sql(
                    self.spark, step.format(t=f"lake.{self.name}", name=self.name, dir=self.directory)
                )

    def pin(self) -> PinnedTable:
        return pin(self.catalog, self.name)

    def read(self, *columns: str) -> pa.Table:
        """What the reader of files has, without an engine."""
        return read(self.pin(), *columns, storage=self.storage)

    @property
    def storage(self) -> dict[str, str]:
        return storage_of("lake", self.properties, self.name)

    @property
    def options(self) -> dict[str, str]:
        """Read options for this table alone, without a topic."""
        return {
            "read": "cold",
            "catalog.name": "lake",
            **{f"catalog.{key}": self._told(key, value) for key, value in self.properties.items()},
        }

    def _told(self, key: str, value: str) -> str:
        if not is_secret(key):
            return value
        # Spark's workers have this machine's files, and another environment.
        file = self.directory / key
        file.write_text(value, encoding="utf-8")
        return f"${{file:{file}}}"

    def ask(self, statement: str) -> pa.Table:
        """What the engine answers; `{t}` is the table."""
        return run_query(
            statement.format(t=self.name), {self.name: merge_options(self.name, self.options, {})}
        ).rows

    def scan(self) -> ParquetScan | None:
        """How the engine reads the table."""
        return plan_parquet_scan(self.pin(), self.storage)

    def as_spark_reads_it(self) -> pa.Table:
        return self.writer.rows(self.spark, f"SELECT * FROM lake.{self.name}")


def new_table(writer: StagedSpark, directory: Path) -> SparkTable:
    """A table that is not there yet, in a catalog in a folder."""
    return _new_table(writer, directory, catalog_properties(directory), directory / "catalog.db")


def new_object_table(
    writer: StagedSpark, directory: Path, catalog: RestCatalog, store: ObjectStore
) -> SparkTable:
    """A table that is not there yet, behind a REST catalog and with its files in an object store."""
    properties = {"type": "rest", "uri": catalog.uri, **of_store(store)}
    return _new_table(writer, directory, properties, rest_settings(catalog, store))


def _new_table(
    writer: StagedSpark, directory: Path, properties: Mapping[str, str], spark: SparkCatalog
) -> SparkTable:
    open_catalog("lake", properties).create_namespace_if_not_exists("shapes")
    return SparkTable(writer, directory, f"shapes.{writer.stage.name('t')}", properties, spark)


def as_typed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows of Spark or of the engine, in the types that are read here; both have UUIDs as text."""
    return rows.cast(pa.schema([pa.field(each.name, _without_uuid(each.type)) for each in schema]))


def _without_uuid(kind: pa.DataType) -> pa.DataType:
    if kind == pa.uuid():
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([(each.name, _without_uuid(each.type)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", _without_uuid(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_without_uuid(kind.key_type), _without_uuid(kind.item_type))
    return kind


def as_sorted(table: pa.Table) -> list[str]:
    """The rows as text, which tells 0.0 from -0.0 and holds what is no number to be alike."""
    return sorted(repr([_plain(value) for value in row.values()]) for row in table.to_pylist())


def _plain(value: Any) -> Any:
    if isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
        return sorted((repr(key), _plain(item)) for key, item in value)  # a map has no order
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return str(value) if isinstance(value, UUID) else value
