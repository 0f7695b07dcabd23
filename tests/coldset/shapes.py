"""Shapes of Iceberg tables, as statements that Iceberg's own runtime runs on Spark.

A shape ends in a table that some reader gets wrong: one that goes by name, forgets nulls of structs, or
takes a delete for something it is not. `{t}` is the table, `{name}` its name, `{dir}` a folder; a step may
also be a delete by key, or what only Java can do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class DeleteByKey:
    """Delete by key the rows where `column` is `value`; see `stack.iceberg_java.delete_by_key`."""

    keys: tuple[str, ...]
    column: str
    value: Any
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Edit:
    """What no statement can do; see the function of this name in `stack.iceberg_edits`."""

    name: str
    request: Mapping[str, Any]


Step = str | DeleteByKey | Edit


def table(columns: str, *, version: int = 2, partitioned: str = "", **properties: str) -> str:
    """Return the statement that makes a table; properties have `_` for `.`, which have none themselves."""
    said = {"format-version": str(version), **{name.replace("_", "."): v for name, v in properties.items()}}
    listed = ", ".join(f"'{name}'='{value}'" for name, value in said.items())
    by = f"PARTITIONED BY ({partitioned})" if partitioned else ""
    return f"CREATE TABLE {{t}} ({columns}) USING iceberg {by} TBLPROPERTIES ({listed})"


def rows(first: int, count: int, *values: str) -> str:
    """Return the statement that writes rows `id` from `first` on into one file, with values made of `id`."""
    listed = "".join(f", {value}" for value in values)
    return f"INSERT INTO {{t}} SELECT /*+ COALESCE(1) */ id{listed} FROM range({first}, {first + count})"


MERGE_ON_READ = {"write_delete_mode": "merge-on-read", "write_update_mode": "merge-on-read"}
COMPACT = "CALL lake.system.rewrite_data_files(table => '{name}', options => map('rewrite-all', 'true'))"
NOTE = "if(id % 5 = 0, null, concat('n', id))"

EVOLUTION: dict[str, tuple[Step, ...]] = {
    "columns are added, renamed, dropped and named anew": (
        table("id BIGINT, a STRING, b INT"),
        rows(0, 10, NOTE, "cast(id AS INT)"),
        "ALTER TABLE {t} RENAME COLUMN a TO c",
        "ALTER TABLE {t} ADD COLUMN a STRING",
        rows(10, 10, "concat('c', id)", "cast(id AS INT)", "concat('a', id)"),
        "ALTER TABLE {t} DROP COLUMN b",
        "ALTER TABLE {t} ADD COLUMN b STRING FIRST",
        "INSERT INTO {t} SELECT 'b', id, 'c', 'a' FROM range(20, 25)",
        "ALTER TABLE {t} ALTER COLUMN id AFTER a",
    ),
    "types are widened": (
        table("id BIGINT, i INT, f FLOAT, d DECIMAL(9, 2)"),
        rows(0, 10, "cast(id - 5 AS INT)", "cast(id / 3 AS FLOAT)", "cast(id / 7 AS DECIMAL(9, 2))"),
        "ALTER TABLE {t} ALTER COLUMN i TYPE BIGINT",
        "ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE",
        "ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(20, 2)",
        rows(10, 10, "id * 10000000000", "id / 3", "cast(123456789012345678.91 AS DECIMAL(20, 2))"),
    ),
    "fields of structs, lists and maps change": (
        table(
            "id BIGINT, s STRUCT<x: INT, y: STRING, in: STRUCT<p: INT, q: INT>>, "
            "l ARRAY<STRUCT<x: INT, y: STRING>>, m MAP<STRING, STRUCT<x: INT, y: STRING>>"
        ),
        rows(
            0,
            12,
            "if(id % 4 = 0, null, named_struct('x', cast(id AS INT), 'y', 'y', 'in', "
            "if(id % 3 = 0, null, named_struct('p', 1, 'q', cast(id AS INT)))))",
            "if(id % 5 = 0, null, if(id % 3 = 0, array(), array(null, named_struct('x', cast(id AS INT), "
            "'y', 'l'))))",
            "if(id % 2 = 0, null, map('k', null, 'j', named_struct('x', cast(id AS INT), 'y', 'm')))",
        ),
        "ALTER TABLE {t} RENAME COLUMN s.x TO z",
        "ALTER TABLE {t} DROP COLUMN s.y",
        "ALTER TABLE {t} ADD COLUMN s.y INT FIRST",
        "ALTER TABLE {t} ALTER COLUMN s.in.q TYPE BIGINT",
        "ALTER TABLE {t} ADD COLUMN s.in.r STRING",
        "ALTER TABLE {t} ADD COLUMN l.element.n STRING",
        "ALTER TABLE {t} DROP COLUMN l.element.y",
        "ALTER TABLE {t} RENAME COLUMN m.value.x TO w",
        "ALTER TABLE {t} ADD COLUMN m.value.v BIGINT",
        "INSERT INTO {t} SELECT id, "
        "named_struct('y', 7, 'z', 8, 'in', named_struct('p', 1, 'q', id, 'r', 'r')), "
        "array(named_struct('x', 1, 'n', 'n')), map('k', named_struct('w', 1, 'y', 'y', 'v', id)) "
        "FROM range(20, 23)",
    ),
    "all types are there": (
        table(
            "id BIGINT, b BOOLEAN, i INT, f FLOAT, d DOUBLE, n DECIMAL(38, 10), s STRING, x BINARY, "
            "day DATE, at TIMESTAMP, local TIMESTAMP_NTZ, l ARRAY<DECIMAL(5, 1)>, m MAP<INT, ARRAY<DATE>>"
        ),
        "INSERT INTO {t} VALUES (1, true, -2147483648, float('NaN'), double('-Infinity'), "
        "1234567890123456789012345678.0123456789, 'é', X'00FF', DATE'0001-01-01', "
        "TIMESTAMP'1969-12-31 23:59:59.999999Z', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', "
        "array(1.5, null), map(1, array(DATE'2020-02-29', null), 2, null)), "
        "(2, null, null, null, null, null, null, null, null, null, null, null, null)",
    ),
}

PARTITIONS: dict[str, tuple[Step, ...]] = {
    "the spec changes and changes back": (
        table("id BIGINT, a STRING, day DATE", partitioned="a"),
        rows(0, 10, "if(id % 3 = 0, null, 'x')", "date_add(DATE'2020-01-01', cast(id AS INT))"),
        "ALTER TABLE {t} ADD PARTITION FIELD months(day)",
        "ALTER TABLE {t} DROP PARTITION FIELD a",
        rows(10, 10, "'y'", "date_add(DATE'2020-01-30', cast(id AS INT))"),
        "ALTER TABLE {t} ADD PARTITION FIELD bucket(4, id)",
        rows(20, 10, "'z'", "null"),
        "ALTER TABLE {t} RENAME COLUMN a TO b",
    ),
    "a spec's column is gone": (
        table("id BIGINT, a STRING", partitioned="a"),
        rows(0, 6, "concat('a', id % 2)"),
        "ALTER TABLE {t} DROP PARTITION FIELD a",
        "ALTER TABLE {t} DROP COLUMN a",
        "ALTER TABLE {t} ADD COLUMN more INT",
        rows(6, 4, "1"),
    ),
}

DELETES: dict[str, tuple[Step, ...]] = {
    f"rows are deleted by position, {what}": (
        table("id BIGINT, grp STRING", partitioned=by, version=2, **MERGE_ON_READ, **more),
        rows(0, 50, "concat('g', id % 3)"),
        rows(50, 50, "concat('g', id % 2)"),
        "DELETE FROM {t} WHERE id % 7 = 3",
        rows(100, 20, "'g1'"),
        "UPDATE {t} SET grp = 'g0' WHERE id % 11 = 5",
        "DELETE FROM {t} WHERE id BETWEEN 45 AND 55",
    )
    for what, by, more in (
        ("file by file", "", {}),
        ("in partitions", "grp", {"write_delete_granularity": "partition"}),
        ("partition-wide", "", {"write_delete_granularity": "partition"}),
    )
} | {
    "deletion vectors grow, over older deletes": (
        table("id BIGINT, grp STRING", version=2, **MERGE_ON_READ),
        rows(0, 60, "'a'"),
        "DELETE FROM {t} WHERE id % 9 = 1",
        "ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='3')",
        rows(60, 40, "'b'"),
        "DELETE FROM {t} WHERE id % 8 = 1",
        "DELETE FROM {t} WHERE id % 10 = 4",
        "UPDATE {t} SET grp = 'c' WHERE id > 90",
    ),
    "a table of version 1 stays one": (
        table("id BIGINT, grp STRING", version=1, partitioned="grp"),
        rows(0, 20, "concat('g', id % 2)"),
        "DELETE FROM {t} WHERE id % 4 = 1",
        "ALTER TABLE {t} DROP PARTITION FIELD grp",
        "ALTER TABLE {t} DROP COLUMN grp",
    ),
    "a table of version 1 is lifted and deleted from": (
        table("id BIGINT, grp STRING", version=1),
        rows(0, 20, "'a'"),
        "ALTER TABLE {t} SET TBLPROPERTIES ('format-version'='2', 'write.delete.mode'='merge-on-read')",
        "DELETE FROM {t} WHERE id % 4 = 1",
        DeleteByKey(("id",), "id", 2),
    ),
    "keys are deleted, and written again": (
        table("id BIGINT, grp STRING"),
        rows(0, 20, NOTE),
        rows(20, 5, "'g'"),
        DeleteByKey(("id",), "id", 3),
        DeleteByKey(("id", "grp"), "id", 5),
        DeleteByKey(("id",), "id", 7, {"is_upsert": True}),
        "INSERT INTO {t} VALUES (3, 'again')",
        DeleteByKey(("grp",), "id", 10),
    ),
    "keys are deleted in partitions and everywhere": (
        table("id BIGINT, grp STRING", partitioned="grp"),
        rows(0, 20, "concat('g', id % 2)"),
        DeleteByKey(("id",), "grp", "g1"),
        "INSERT INTO {t} VALUES (1, 'g0'), (3, 'g1')",
        "ALTER TABLE {t} DROP PARTITION FIELD grp",
        rows(20, 10, "'g1'"),
        DeleteByKey(("id",), "id", 4),
        DeleteByKey(("grp",), "id", 21),
    ),
    "keys are of columns that have changed since": (
        table("id BIGINT, k INT, s STRUCT<a: INT, b: STRING>, gone STRING"),
        rows(
            0,
            12,
            "cast(id % 4 AS INT)",
            "if(id % 5 = 0, null, named_struct('a', cast(id % 3 AS INT), 'b', 'b'))",
            NOTE,
        ),
        DeleteByKey(("k",), "id", 1),
        DeleteByKey(("s.a",), "id", 2),
        DeleteByKey(("gone",), "id", 4),
        "ALTER TABLE {t} ALTER COLUMN k TYPE BIGINT",
        "ALTER TABLE {t} RENAME COLUMN k TO key",
        "ALTER TABLE {t} DROP COLUMN gone",
        "ALTER TABLE {t} ADD COLUMN later INT",
        rows(12, 8, "id % 4", "null", "null"),
        DeleteByKey(("key", "later"), "id", 13),
        DeleteByKey(("s.a",), "id", 12),
    ),
    "keys are floating-point numbers": (
        table("id BIGINT, d DOUBLE, f FLOAT"),
        "INSERT INTO {t} VALUES (1, double('NaN'), 1), (2, 0.0, 0), (3, -0.0, float('-0')), (4, null, null)",
        "INSERT INTO {t} VALUES (5, double('NaN'), 1), (6, 0.0, 0), (7, -0.0, float('-0')), (8, 0.1, 0.1)",
        DeleteByKey(("d",), "id", 5),
        DeleteByKey(("f",), "id", 6),
    ),
    "everything at once, and compacted": (
        table("id BIGINT, grp STRING", partitioned="bucket(2, id)", **MERGE_ON_READ),
        rows(0, 40, "'a'"),
        "DELETE FROM {t} WHERE id % 6 = 1",
        DeleteByKey(("id",), "id", 8),
        "ALTER TABLE {t} RENAME COLUMN grp TO g",
        COMPACT,
        rows(40, 20, "'b'"),
        DeleteByKey(("g",), "id", 41, {"is_upsert": True}),
        "DELETE FROM {t} WHERE id % 6 = 2",
    ),
}

FORMATS: dict[str, tuple[Step, ...]] = {
    "files come from elsewhere, without ids and without their partition's column": (
        table("id BIGINT, a STRING, at TIMESTAMP, p INT", partitioned="p"),
        *(
            f"INSERT OVERWRITE DIRECTORY '{{dir}}/in/p={p}' USING parquet "
            f"SELECT id, concat('a', id) AS a, timestamp_millis(id * 1001 - 3) AS at FROM range({p}, {p} + 5)"
            for p in (1, 2)
        ),
        "CALL lake.system.add_files(table => '{name}', source_table => '`parquet`.`{dir}/in`')",
        "ALTER TABLE {t} RENAME COLUMN a TO b",
        "ALTER TABLE {t} RENAME COLUMN p TO q",
        "INSERT INTO {t} SELECT id, 'b', null, 3 FROM range(2)",
        DeleteByKey(("q", "id"), "id", 4),
    ),
    "data files are ORC": (
        table(
            "id BIGINT, a STRING, s STRUCT<x: INT>, at TIMESTAMP", write_format_default="orc", **MERGE_ON_READ
        ),
        rows(
            0, 20, NOTE, "if(id % 3 = 0, null, named_struct('x', cast(id AS INT)))", "timestamp_seconds(id)"
        ),
        "ALTER TABLE {t} RENAME COLUMN a TO b",
        "ALTER TABLE {t} ADD COLUMN s.y INT",
        "DELETE FROM {t} WHERE id % 4 = 1",
        DeleteByKey(("b",), "id", 2),
    ),
}

SHAPES = {**EVOLUTION, **PARTITIONS, **DELETES, **FORMATS}
