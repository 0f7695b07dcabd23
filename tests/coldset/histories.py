"""The random past of a table: evolved, deleted from, compacted, and looked at in between.

Iceberg's runtime on Spark makes each step, and its reader says what the rows are. What Spark refuses is no
step. Who reads the table is not known here but by `moments`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from pyiceberg.types import IcebergType, ListType, MapType, NestedField, StructType

from stack.errors import StackError
from tests.coldset.agreement import SparkTable, new_table
from tests.coldset.moments import Moment, keep_moment
from tests.coldset.shapes import DeleteByKey, Step, table
from tests.fixtures.staged_writers import StagedSpark

TYPES: Final = (
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(9, 2)",
    "STRING",
    "BOOLEAN",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
    "BINARY",
    "STRUCT<x: INT, y: STRING>",
    "ARRAY<INT>",
    "ARRAY<STRUCT<x: INT, z: STRUCT<q: STRING>>>",
    "MAP<STRING, STRUCT<x: INT>>",
)
WIDER: Final = {"int": "BIGINT", "float": "DOUBLE", "decimal(9, 2)": "DECIMAL(18, 2)"}
STEPS: Final = 12


@dataclass
class History:
    """One table's random past, and what readers made of it."""

    table: SparkTable
    seed: int
    random: Random
    steps: list[Step] = field(default_factory=list)
    refused: int = 0
    is_unread: bool = False
    next_id: int = 0
    names: int = 0

    def begin(self) -> None:
        version = self.random.choice((1, 2, 2, 3))
        columns = ", ".join(f"{name} {self.random.choice(TYPES)}" for name in ("a", "b", "c"))
        modes = {
            f"write_{what}_mode": self.random.choice(("merge-on-read", "copy-on-write"))
            for what in ("delete", "update")
        }
        granularity = self.random.choice(("file", "partition"))
        more = {"write_delete_granularity": granularity, **modes} if version > 1 else {}
        self.take(table(f"id BIGINT, {columns}", version=version, **more))
        self.insert()

    def go_on(self) -> None:
        ways: Sequence[Callable[[], None]] = (
            self.insert,
            self.insert,
            self.add_column,
            self.drop_column,
            self.rename_column,
            self.widen_column,
            self.change_struct,
            self.partition,
            self.delete,
            self.delete,
            self.update,
            self.delete_by_key,
            self.delete_by_key,
            self.maintain,
        )
        self.random.choice(ways)()

    def take(self, step: Step) -> None:
        try:
            self.table.run([step])
        except StackError:
            self.refused += 1
            return
        self.steps.append(step)

    def fields(self) -> tuple[NestedField, ...]:
        return self.table.pin().schema.fields

    def new_name(self) -> str:
        # Names come back, and then mean other columns.
        self.names += 1
        return self.random.choice(("a", "b", "c", f"n{self.names}"))

    def insert(self) -> None:
        count = self.random.randint(1, 30)
        values = ", ".join(
            "id" if each.name == "id" else self.value(each.field_type) for each in self.fields()
        )
        first, self.next_id = self.next_id, self.next_id + count
        self.take(f"INSERT INTO {{t}} SELECT {values} FROM range({first}, {first + count})")

    def value(self, kind: IcebergType, depth: int = 0) -> str:
        """SQL of a value of a type, made of `id`, often null."""
        found = self._value(kind, depth)
        if self.random.random() < 0.4:
            return f"if(id % {self.random.randint(2, 5)} = {self.random.randint(0, 1)}, null, {found})"
        return found

    def _value(self, kind: IcebergType, depth: int) -> str:
        if isinstance(kind, StructType):
            parts = ", ".join(
                f"'{each.name}', {self.value(each.field_type, depth + 1)}" for each in kind.fields
            )
            return f"named_struct({parts})"
        if isinstance(kind, ListType):
            elements = [self.value(kind.element_type, depth + 1) for _ in range(self.random.randint(1, 2))]
            return f"array({', '.join(elements)})"
        if isinstance(kind, MapType):
            return f"map('k', {self.value(kind.value_type, depth + 1)})"
        text = str(kind)
        of_id = {
            "string": "concat('v', id % 7)",
            "boolean": "id % 2 = 0",
            "date": "date_add(DATE'2019-12-30', cast(id AS INT))",
            "timestamptz": "timestamp_seconds(id * 86399)",
            "timestamp": "cast(timestamp_seconds(id * 86399) AS TIMESTAMP_NTZ)",
            "binary": "cast(concat('b', id) AS BINARY)",
            "float": "cast(id / 3 AS FLOAT)",
            "double": "id / 7",
        }
        return of_id.get(text, f"cast(id % 11 AS {'BIGINT' if text == 'long' else text})")

    def others(self) -> list[NestedField]:
        return [each for each in self.fields() if each.name != "id"]

    def add_column(self) -> None:
        place = self.random.choice(("", " FIRST", " AFTER id"))
        self.take(f"ALTER TABLE {{t}} ADD COLUMN {self.new_name()} {self.random.choice(TYPES)}{place}")

    def drop_column(self) -> None:
        if len(self.others()) > 1:
            self.take(f"ALTER TABLE {{t}} DROP COLUMN {self.random.choice(self.others()).name}")

    def rename_column(self) -> None:
        if self.others():
            self.take(
                f"ALTER TABLE {{t}} RENAME COLUMN {self.random.choice(self.others()).name} "
                f"TO {self.new_name()}"
            )

    def widen_column(self) -> None:
        found = [each for each in self.others() if str(each.field_type) in WIDER]
        if found:
            chosen = self.random.choice(found)
            self.take(f"ALTER TABLE {{t}} ALTER COLUMN {chosen.name} TYPE {WIDER[str(chosen.field_type)]}")

    def change_struct(self) -> None:
        found = [path for each in self.others() for path in _structs(each.field_type, each.name)]
        structs = [(path, kind) for path, kind in found if kind.fields]
        if not structs:
            return
        path, kind = self.random.choice(structs)
        inner = self.random.choice(kind.fields).name
        self.take(
            self.random.choice(
                (
                    f"ALTER TABLE {{t}} ADD COLUMN {path}.{self.new_name()} {self.random.choice(TYPES)}",
                    f"ALTER TABLE {{t}} DROP COLUMN {path}.{inner}",
                    f"ALTER TABLE {{t}} RENAME COLUMN {path}.{inner} TO {self.new_name()}",
                )
            )
        )

    def partition(self) -> None:
        name = self.random.choice(self.fields()).name
        term = self.random.choice((name, f"bucket(3, {name})", f"truncate(2, {name})", f"months({name})"))
        action = self.random.choice(("ADD", "ADD", "DROP"))
        self.take(f"ALTER TABLE {{t}} {action} PARTITION FIELD {term}")

    def delete(self) -> None:
        of = self.random.randint(2, 9)
        self.take(f"DELETE FROM {{t}} WHERE id % {of} = {self.random.randint(0, of - 1)}")

    def update(self) -> None:
        if self.others():
            chosen = self.random.choice(self.others())
            value = self.value(chosen.field_type)
            self.take(f"UPDATE {{t}} SET {chosen.name} = {value} WHERE id % 6 = {self.random.randint(0, 5)}")

    def delete_by_key(self) -> None:
        if self.table.pin().table.metadata.format_version < 2:
            return
        leaves = [each.name for each in self.fields() if each.field_type.is_primitive]
        keys = tuple(self.random.sample(leaves, self.random.randint(1, min(2, len(leaves)))))
        value = self.random.randint(0, max(0, self.next_id - 1))
        self.take(DeleteByKey(keys, "id", value, {"is_upsert": self.random.random() < 0.4}))

    def maintain(self) -> None:
        self.take(
            self.random.choice(
                (
                    "CALL lake.system.rewrite_data_files(table => '{name}', options => "
                    "map('rewrite-all', 'true'))",
                    "CALL lake.system.rewrite_data_files(table => '{name}')",
                    "CALL lake.system.rewrite_position_delete_files(table => '{name}')",
                    "CALL lake.system.rewrite_manifests('{name}')",
                    "ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='2')",
                    "ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='3')",
                )
            )
        )

    def moment(self, number: int) -> Moment | None:
        """The table as it is now, with the rows that Spark reads; None if Spark cannot."""
        try:
            rows = self.table.as_spark_reads_it()
        except StackError:
            self.is_unread = True  # Spark's reader has faults of its own, and then nobody can judge
            return None
        metadata = self.table.pin().table.metadata_location
        name = f"of_{self.seed:04}_{number:02}"
        return keep_moment(self.table.directory, name, metadata=metadata, rows=rows, steps=self.steps)


def try_table(
    writer: StagedSpark, directory: Path, seed: int, steps: int = STEPS
) -> tuple[History, list[str]]:
    """Make one table step by step; end where a reader is wrong, or at the last step."""
    history = History(new_table(writer, directory), seed, Random(seed))
    history.begin()
    for number in range(1, steps + 1):
        history.go_on()
        if number % 4 == 0 or number == steps:
            moment = history.moment(number)
            wrong = moment.wrong_readers() if moment else []
            if wrong or moment is None:
                return history, wrong
    return history, []


def _structs(kind: IcebergType, path: str) -> list[tuple[str, StructType]]:
    if isinstance(kind, StructType):
        inner = [found for each in kind.fields for found in _structs(each.field_type, f"{path}.{each.name}")]
        return [(path, kind), *inner]
    if isinstance(kind, ListType):
        return _structs(kind.element_type, f"{path}.element")
    if isinstance(kind, MapType):
        return _structs(kind.value_type, f"{path}.value")
    return []
