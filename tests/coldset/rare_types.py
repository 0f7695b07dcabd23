"""Types and formats that few tables have, each in a table that Iceberg's own runtime makes.

As in `shapes`; what Spark has no statement for is made by Iceberg's Java library, and Spark reads it.
"""

from __future__ import annotations

import json

from tests.coldset.shapes import MERGE_ON_READ, NOTE, DeleteByKey, Edit, Step, rows, table

UUIDS = "concat('f81d4fae-7dec-11d0-a765-00a0c91e6bf', id % 3)"


def _field(number: int, name: str, kind: object) -> dict[str, object]:
    return {"id": number, "name": name, "type": kind, "required": False}


def schema(*columns: str | dict[str, object]) -> str:
    """Return the JSON of a schema; a column is its name and its type, or the type of column `s`."""
    fields = [
        _field(number, *(("s", each) if isinstance(each, dict) else each.split(" ", 1)))
        for number, each in enumerate(columns, 1)
    ]
    return json.dumps({"type": "struct", "schema-id": 0, "fields": fields})


RARE_TYPES: dict[str, tuple[Step, ...]] = {
    "identifiers and bytes of one length": (
        Edit(
            "make_table",
            {
                "schema": schema(
                    "id long",
                    "u uuid",
                    "f fixed[4]",
                    {"type": "struct", "fields": [_field(7, "v", "uuid"), _field(8, "g", "fixed[2]")]},
                )
            },
        ),
        "INSERT INTO {t} VALUES (1, 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6', X'00112233', "
        "named_struct('v', '00000000-0000-0000-0000-000000000001', 'g', X'00FF')), (2, null, null, null), "
        "(3, 'ffffffff-ffff-ffff-ffff-ffffffffffff', X'FFFFFFFF', named_struct('v', null, 'g', null))",
        "INSERT INTO {t} VALUES (4, 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6', X'00112233', null), "
        "(5, 'ffffffff-ffff-ffff-ffff-ffffffffffff', X'FFFFFFFF', null)",
        "DELETE FROM {t} WHERE id = 3",
    ),
    "keys are identifiers": (
        Edit("make_table", {"schema": schema("id long", "u uuid", "f fixed[4]")}),
        f"INSERT INTO {{t}} SELECT id, {UUIDS}, X'00112233' FROM range(9)",
        DeleteByKey(("u",), "id", 4),
        "ALTER TABLE {t} ADD PARTITION FIELD u",
        f"INSERT INTO {{t}} SELECT id, {UUIDS}, null FROM range(10, 16)",
        DeleteByKey(("f",), "id", 0),
    ),
    "columns came with defaults": (
        table("id INT", version=3),
        "INSERT INTO {t} SELECT cast(id AS INT) FROM range(5)",
        *(
            Edit("add_column", {"name": f"c{number}", "kind": kind, "default": default})
            for number, (kind, default) in enumerate(
                (
                    ("string", "it's"),
                    ("date", "2020-02-29"),
                    ("decimal(9,2)", "-1.50"),
                    ("timestamp", "1969-12-31T23:59:59.999999"),
                    ("timestamptz", "2020-01-01T00:00:00.000001+00:00"),
                    ("uuid", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"),
                )
            )
        ),
        "INSERT INTO {t} (id) VALUES (9)",
        "UPDATE {t} SET c0 = null WHERE id = 3",
    ),
    "data files are Avro": (
        table(
            "id BIGINT, a STRING, s STRUCT<x: INT>, at TIMESTAMP",
            write_format_default="avro",
            **MERGE_ON_READ,
        ),
        rows(
            0, 20, NOTE, "if(id % 3 = 0, null, named_struct('x', cast(id AS INT)))", "timestamp_seconds(id)"
        ),
        "ALTER TABLE {t} RENAME COLUMN a TO b",
        "ALTER TABLE {t} ADD COLUMN s.y INT",
        "DELETE FROM {t} WHERE id % 4 = 1",
        DeleteByKey(("b",), "id", 2),
    ),
    "all types are in Avro": (
        table(
            "id BIGINT, b BOOLEAN, i INT, f FLOAT, d DOUBLE, n DECIMAL(38, 10), s STRING, x BINARY, "
            "day DATE, at TIMESTAMP, local TIMESTAMP_NTZ, l ARRAY<DECIMAL(5, 1)>, m MAP<INT, ARRAY<DATE>>, "
            "o MAP<STRING, STRUCT<q: INT>>, r STRUCT<`a-b`: INT, c: ARRAY<STRUCT<z: STRING>>>",
            write_format_default="avro",
        ),
        "INSERT INTO {t} VALUES (1, true, -2147483648, float('NaN'), double('-Infinity'), "
        "1234567890123456789012345678.0123456789, 'é', X'00FF', DATE'0001-01-01', "
        "TIMESTAMP'1969-12-31 23:59:59.999999Z', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', "
        "array(1.5, null), map(1, array(DATE'2020-02-29', null), 2, null), "
        "map('k', named_struct('q', 1), 'l', null), "
        "named_struct('a-b', 5, 'c', array(named_struct('z', 'z'), null))), "
        "(2, null, null, null, null, null, null, null, null, null, null, null, null, null, null)",
        "ALTER TABLE {t} ALTER COLUMN i TYPE BIGINT",
        "ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE",
    ),
}
