"""A table that is read alone, by the engine.

It has no topic, so a test of it starts no service.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog

from coldset.plan.parquet_scan import plan_parquet_scan
from coldset.table.catalog import pin
from federation.engine.run.answer import Answer
from federation.engine.run.query import run_query
from federation.options.table_definition import merge_options
from tests.builders import unique
from tests.coldset.tables import catalog_properties, make_catalog

ROWS = pa.schema([("id", pa.int64()), ("note", pa.string())])


class Alone:
    """A table that is read alone, by the engine."""

    def __init__(self, directory: Path, schema: pa.Schema = ROWS, location: str | None = None) -> None:
        directory.mkdir(exist_ok=True)
        self.directory = directory
        self.name = f"lake.{unique('t')}"
        self.catalog: Catalog = make_catalog(directory)
        self.catalog.create_table(self.name, schema=schema, location=location)

    def append(self, *ids: int) -> None:
        rows = pa.table({"id": ids, "note": [f"n{n}" for n in ids]}, schema=ROWS)
        self.catalog.load_table(self.name).append(rows)

    def options(self, **options: str) -> dict[str, str]:
        properties = {f"catalog.{key}": value for key, value in catalog_properties(self.directory).items()}
        return merge_options(self.name, {"read": "cold", "catalog.name": "cold", **properties, **options}, {})

    def ask(self, statement: str, **options: str) -> Answer:
        return run_query(statement.format(t=self.name), {self.name: self.options(**options)})

    def copied(self) -> Alone:
        """The same table under another name, as after a restore: it goes on by itself."""
        other = copy.copy(self)
        other.name = f"lake.{unique('t')}"
        self.catalog.register_table(other.name, self.catalog.load_table(self.name).metadata_location)
        return other

    def scan(self) -> Any:
        return plan_parquet_scan(pin(self.catalog, self.name), {})
