"""Tables as they were when Spark said what their rows are, kept, so that readers can be asked again.

Making a table takes Spark seconds, and reading one takes us milliseconds: whoever changes a reader asks it
for all tables that were made before. Nothing here knows how a table came to be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import pyarrow as pa

from coldset.files.duckdb_sql import quoted
from coldset.table.catalog import PinnedTable, open_catalog, pin
from federation.engine.run.query import run_query
from federation.options.table_definition import merge_options
from tests.coldset.agreement import as_sorted
from tests.coldset.filters import filtered, read_filtered, some_filter
from tests.coldset.tables import catalog_properties, read

_MADE_OF = b"made_of"

# So many random filters a table is asked with, besides none.
FILTERS: Final = 3


@dataclass(frozen=True)
class Moment:
    """A table at one time, registered under a name of its own, and Spark's rows of it.

    Attributes:
        name: Namespace and name, in the catalog of moments of the folder.
        folder: Where that catalog and Spark's rows are.
    """

    name: str
    folder: Path

    @property
    def wanted(self) -> pa.Table:
        with pa.ipc.open_file(_rows_of(self.folder, self.name)) as reader:
            return reader.read_all()

    @property
    def steps(self) -> list[str]:
        found = json.loads(self.wanted.schema.metadata[_MADE_OF])
        return [str(each) for each in found]

    def pin(self) -> PinnedTable:
        return pin(open_catalog("moments", _properties(self.folder)), self.name)

    def ask(self, statement: str) -> pa.Table:
        """What the engine answers; `{t}` is the table."""
        catalog = {f"catalog.{key}": value for key, value in _properties(self.folder).items()}
        options = {"read": "cold", "catalog.name": "moments", **catalog}
        return run_query(
            statement.format(t=self.name), {self.name: merge_options(self.name, options, {})}
        ).rows

    def wrong_readers(self, filters: int = FILTERS) -> list[str]:
        """Which readers have other rows than Spark, or an error: without a filter, with some, of a column."""
        wanted, target = self.wanted, self.pin().arrow_schema
        wrong = self._wrong(wanted.cast(target), "")
        for name in target.names:
            wrong += self._wrong(wanted.cast(target).select([name]), "")
        counted = self.ask("SELECT count(*) AS n FROM {t}").column("n").to_pylist()
        wrong += [] if counted == [wanted.num_rows] else [f"engine: counts {counted} of {wanted.num_rows}"]
        random = Random(self.name)
        for _ in range(filters):
            wrong += self._wrong(wanted.cast(target), some_filter(random, wanted.cast(target)))
        return wrong

    def _wrong(self, wanted: pa.Table, condition: str) -> list[str]:
        target = wanted.schema
        columns = ", ".join(map(quoted, target.names))
        rows = as_sorted(filtered(wanted, condition) if condition else wanted)
        readers: dict[str, Callable[[], pa.Table]] = {
            "reader": lambda: (
                read_filtered(self.pin(), wanted, condition) if condition else read(self.pin(), *target.names)
            ),
            "engine": lambda: self.ask(f"SELECT {columns} FROM {{t}}{condition and f' WHERE {condition}'}"),
        }
        wrong = []
        for name, answer in readers.items():
            try:
                is_same = as_sorted(answer().cast(target)) == rows
            except Exception as exc:  # noqa: BLE001 - any error is what is looked for
                wrong.append(f"{name}: {condition} {type(exc).__name__}: {exc}")
            else:
                wrong.extend([] if is_same else [f"{name}: other rows of {columns} {condition}"])
        return wrong


def keep_moment(folder: Path, name: str, *, metadata: str, rows: pa.Table, steps: Sequence[object]) -> Moment:
    """Keep a table whose state is in a metadata file, with Spark's rows and the steps that led there."""
    catalog = open_catalog("moments", _properties(folder))
    catalog.create_namespace_if_not_exists("moments")
    name = f"moments.{name}"
    if catalog.table_exists(name):
        catalog.drop_table(name)  # the same seed is made again
    catalog.register_table(name, metadata)
    made_of = {_MADE_OF: json.dumps([str(step) for step in steps]).encode()}
    with pa.ipc.new_file(_rows_of(folder, name), rows.schema.with_metadata(made_of)) as writer:
        writer.write_table(rows.replace_schema_metadata(made_of))
    return Moment(name, folder)


def kept_moments(folder: Path) -> Iterator[Moment]:
    """All moments of a folder, in the order of their names."""
    for path in sorted((folder / "moments").glob("moments.*.arrow")):
        yield Moment(path.stem, folder)


def _properties(folder: Path) -> dict[str, str]:
    (folder / "moments").mkdir(exist_ok=True)
    return catalog_properties(folder / "moments")


def _rows_of(folder: Path, name: str) -> Path:
    return folder / "moments" / f"{name}.arrow"
