"""Corners of the format: what a table seldom has, and a reader that was only shown plain ones gets wrong.

As in `shapes`, Iceberg's own runtime makes them on Spark.
"""

from __future__ import annotations

from tests.coldset.shapes import COMPACT, MERGE_ON_READ, NOTE, DeleteByKey, Edit, Step, rows, table

_VERSION = "ALTER TABLE {{t}} SET TBLPROPERTIES ('format-version'='{}')"
_CODEC = "ALTER TABLE {{t}} SET TBLPROPERTIES ('write.parquet.compression-codec'='{}')"

# A partition, and days as they are in rows; its own is the first.
_FILED = (7, "x", 0.5, 18262)
_DAY, _OTHER_DAY = (("java.time.LocalDate", day) for day in ("2020-01-01", "1999-12-31"))

CORNERS: dict[str, tuple[Step, ...]] = {
    "nothing was ever written": (table("id BIGINT, a STRING"),),
    "everything was deleted": (table("id BIGINT, a STRING"), rows(0, 5, NOTE), "DELETE FROM {t}"),
    "nothing is left, row by row": (
        table("id BIGINT", version=2, **MERGE_ON_READ),
        rows(0, 5),
        "DELETE FROM {t} WHERE id < 3",
        "DELETE FROM {t} WHERE id IN (3, 4)",
    ),
    "a table is lifted twice": (
        table("id BIGINT, a STRING", version=1, **MERGE_ON_READ),
        rows(0, 20, NOTE),
        _VERSION.format(2),
        rows(20, 20, NOTE),
        "DELETE FROM {t} WHERE id % 7 = 1",
        _VERSION.format(3),
        rows(40, 20, NOTE),
        "DELETE FROM {t} WHERE id % 5 = 2",
        "ALTER TABLE {t} ADD COLUMN b INT",
        "UPDATE {t} SET b = 1 WHERE id % 10 = 4",
    ),
    "rows keep their lineage through a compaction": (
        table("id BIGINT, a STRING", version=3, **MERGE_ON_READ),
        rows(0, 20, NOTE),
        rows(20, 20, NOTE),
        "UPDATE {t} SET a = 'u' WHERE id % 6 = 1",
        COMPACT,
        "UPDATE {t} SET a = 'v' WHERE id % 6 = 2",
        "MERGE INTO {t} USING (SELECT id * 9 AS id FROM range(10)) s ON {t}.id = s.id "
        "WHEN MATCHED THEN UPDATE SET a = 'm' WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, 'n')",
    ),
    "one Puffin file has the vectors of many files": (
        table("id BIGINT, a STRING", version=3, **MERGE_ON_READ),
        *(rows(first, 20, NOTE) for first in (0, 20, 40, 60)),
        "DELETE FROM {t} WHERE id % 3 = 1",
        "DELETE FROM {t} WHERE id % 20 = 0",
    ),
    "a file has many row groups": (
        table(
            "id BIGINT, a STRING",
            **MERGE_ON_READ,
            **{
                "write_parquet_row-group-size-bytes": "2048",
                "write_parquet_row-group-check-min-record-count": "10",
                "write_parquet_row-group-check-max-record-count": "50",
                "write_parquet_page-size-bytes": "256",
            },
        ),
        rows(0, 3000, "sha(cast(id AS STRING))"),
        "DELETE FROM {t} WHERE id % 97 = 5",
        "DELETE FROM {t} WHERE id BETWEEN 700 AND 1900 AND id % 2 = 0",
    ),
    "each file is compressed in another way": (
        table("id BIGINT, a STRING", **{"write_metadata_compression-codec": "gzip"}),
        *(
            step
            for number, codec in enumerate(("gzip", "snappy", "zstd", "uncompressed", "lz4_raw"))
            for step in (_CODEC.format(codec), rows(number * 10, 10, NOTE))
        ),
        "ALTER TABLE {t} SET TBLPROPERTIES ('write.parquet.bloom-filter-enabled.column.a'='true')",
        rows(90, 5, NOTE),
    ),
    "partitions have names that no path would have": (
        table("id BIGINT, p STRING", partitioned="p", **MERGE_ON_READ),
        "INSERT INTO {t} SELECT id, array('a b', 'a/b', '50%', '[x]', '?*', '', 'é', \"'\", '\"', "
        "'__HIVE_DEFAULT_PARTITION__', null, 'a=b', '#', 'c:d')[cast(id % 14 AS INT)] FROM range(42)",
        "DELETE FROM {t} WHERE id % 4 = 1",
        DeleteByKey(("id",), "id", 10),
    ),
    "columns have names that an engine has, too": (
        table(
            "`id` BIGINT, `file_row_number` INT, `filename` STRING, `file_index` INT, `c1` INT, `a.b` INT, "
            '`sel"ect` INT, `é ` INT, `bits` INT',
            **MERGE_ON_READ,
        ),
        "INSERT INTO {t} SELECT id, 1, 'f', 3, cast(id AS INT), 5, 7, 8, 9 FROM range(20)",
        "DELETE FROM {t} WHERE id % 4 = 1",
        "ALTER TABLE {t} RENAME COLUMN c1 TO c2",
        "ALTER TABLE {t} DROP COLUMN `file_index`",
    ),
    "partitions are of every kind": (
        table(
            "id BIGINT, at TIMESTAMP, local TIMESTAMP_NTZ, day DATE, s STRING, n DECIMAL(9, 2), x BINARY",
            partitioned="years(at), hours(local), days(day), truncate(3, s), truncate(10, n), bucket(3, x)",
        ),
        rows(
            0,
            12,
            "timestamp_seconds(id * 86399 - 400000)",
            "cast(timestamp_seconds(id * 3601 - 7000) AS TIMESTAMP_NTZ)",
            "date_add(DATE'1969-12-28', cast(id AS INT))",
            "if(id % 4 = 0, null, concat('é€', id))",
            "cast(id - 6 AS DECIMAL(9, 2)) / 3",
            "cast(concat('b', id) AS BINARY)",
        ),
        "DELETE FROM {t} WHERE id = 3",
        "ALTER TABLE {t} DROP PARTITION FIELD years(at)",
        "ALTER TABLE {t} RENAME COLUMN day TO d",
        "INSERT INTO {t} SELECT 20, null, null, null, null, null, null",
    ),
    "a partition's value is of every kind": (
        table(
            "id BIGINT, d DATE, b BOOLEAN, n DECIMAL(9, 2), x DOUBLE, at TIMESTAMP",
            partitioned="d, b, n, x, at",
        ),
        "INSERT INTO {t} VALUES "
        "(1, DATE'1969-12-31', true, -1.50, double('NaN'), TIMESTAMP'1969-12-31 23:59:59.5Z'), "
        "(2, null, false, 2.25, -0.0, TIMESTAMP'2020-01-01 00:00:00Z'), "
        "(3, DATE'2020-02-29', null, null, 0.0, null), (4, null, null, null, null, null)",
        "ALTER TABLE {t} ALTER COLUMN n TYPE DECIMAL(18, 2)",
        "DELETE FROM {t} WHERE id = 2",
    ),
    "imported files say other things than their folders": (
        table("id BIGINT, p INT, s STRING", partitioned="p, s"),
        *(
            f"INSERT OVERWRITE DIRECTORY '{{dir}}/in/p={p}/s=x{p}' USING parquet "
            f"SELECT id, cast(id AS INT) AS p, concat('own', id) AS s FROM range(3)"
            for p in (7, 8)
        ),
        "CALL lake.system.add_files(table => '{name}', source_table => '`parquet`.`{dir}/in`')",
    ),
    "files with ids say other things than their partitions": (
        table("id INT, p INT, s STRING, x DOUBLE, day DATE", partitioned="p, s, x, day", **MERGE_ON_READ),
        "INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, 7, 'x', 0.5, DATE'2020-01-01' FROM range(3)",
        *(
            Edit("append", {"rows": [[first + n, *row] for n, row in enumerate(said)], "partition": filed})
            for first, filed, said in (
                (10, _FILED, [[7, "x", 0.5, _DAY], [7, "x", 0.5, _DAY]]),
                (20, _FILED, [[1, "own", 3.25, _OTHER_DAY], [7, "z", 0.5, _DAY], [9, "x", -2.5, _DAY]]),
                (30, _FILED, [[8, "own", 3.25, _OTHER_DAY]]),
                (40, _FILED, [[None, None, None, None], [7, "x", 0.5, _DAY]]),
                (50, [None] * 4, [[7, "x", 0.5, _DAY], [None, None, None, None]]),
                (60, [None] * 4, [[None, None, None, None]]),
            )
        ),
        DeleteByKey(("p", "id"), "id", 21),
        DeleteByKey(("s", "day", "id"), "id", 22),
        "DELETE FROM {t} WHERE id = 11",
        "INSERT INTO {t} VALUES (70, 7, 'x', 0.5, DATE'2020-01-01')",
    ),
    "imported times are older and newer than nanoseconds go": (
        table("id BIGINT, at TIMESTAMP"),
        "INSERT OVERWRITE DIRECTORY '{dir}/in' USING parquet SELECT id, array("
        "TIMESTAMP'0001-01-01 00:00:00Z', TIMESTAMP'1582-10-15 00:00:00Z', "
        "TIMESTAMP'1969-12-31 23:59:59.999999Z', TIMESTAMP'2262-04-12 00:00:00Z', "
        "TIMESTAMP'9999-12-31 23:59:59.999999Z')[cast(id AS INT)] AS at FROM range(5)",
        "CALL lake.system.add_files(table => '{name}', source_table => '`parquet`.`{dir}/in`')",
    ),
    "keys are text, alike to some and not to others": (
        table("id BIGINT, k STRING"),
        "INSERT INTO {t} VALUES (1, 'a'), (2, 'A'), (3, 'a '), (4, 'é'), (5, 'e\u0301'), (6, ''), "
        "(7, null), (8, 'ß')",
        "INSERT INTO {t} VALUES (11, 'a'), (12, 'A'), (13, 'a '), (14, 'é'), (15, ''), (16, null)",
        DeleteByKey(("k",), "id", 11),
        DeleteByKey(("k",), "id", 14),
        DeleteByKey(("k",), "id", 15),
        DeleteByKey(("k",), "id", 16),
    ),
    "keys are of every kind, deep in structs": (
        table(
            "id BIGINT, s STRUCT<t: STRUCT<d: DATE, n: DECIMAL(9, 2)>, x: BINARY>, at TIMESTAMP, b BOOLEAN, "
            "f FLOAT"
        ),
        rows(
            0,
            12,
            "if(id % 5 = 0, null, named_struct('t', if(id % 4 = 0, null, named_struct('d', "
            "date_add(DATE'2020-01-01', cast(id % 3 AS INT)), 'n', cast(id % 3 AS DECIMAL(9, 2)))), "
            "'x', cast(concat('b', id % 3) AS BINARY)))",
            "timestamp_seconds(id % 4)",
            "id % 2 = 0",
            "cast(id % 3 AS FLOAT)",
        ),
        DeleteByKey(("s.t.d",), "id", 1),
        DeleteByKey(("s.t.n", "b"), "id", 2),
        DeleteByKey(("s.x", "at"), "id", 4),
        "ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE",
        DeleteByKey(("f", "b"), "id", 6),
        DeleteByKey(("s.t.d",), "id", 10),
    ),
    "bounds leave out what is no number": (
        table("id BIGINT, d DOUBLE, f FLOAT, l ARRAY<DOUBLE>", partitioned="truncate(5, id)"),
        rows(0, 10, "if(id % 2 = 0, double('NaN'), id)", "float('NaN')", "array(double('NaN'), id, -0.0)"),
        rows(10, 10, "if(id % 3 = 0, double('Infinity'), -0.0)", "if(id % 2 = 0, -0.0, 0.0)", "array()"),
    ),
    "required columns are there": (
        table("id BIGINT NOT NULL, s STRUCT<a: INT NOT NULL, b: STRING> NOT NULL, l ARRAY<INT>"),
        rows(0, 5, "named_struct('a', cast(id AS INT), 'b', null)", "array(1, null)"),
        "ALTER TABLE {t} ALTER COLUMN id DROP NOT NULL",
        "INSERT INTO {t} SELECT null, named_struct('a', 1, 'b', 'b'), null",
    ),
    "fields of structs come and go until none is left": (
        table("id BIGINT, s STRUCT<x: INT, t: STRUCT<y: INT>>"),
        rows(
            0,
            8,
            "if(id % 3 = 0, null, named_struct('x', 1, 't', if(id % 2 = 0, null, named_struct('y', 2))))",
        ),
        "ALTER TABLE {t} ADD COLUMN s.t.z STRING",
        "ALTER TABLE {t} DROP COLUMN s.t.y",
        "ALTER TABLE {t} DROP COLUMN s.x",
        "INSERT INTO {t} SELECT 9, named_struct('t', named_struct('z', 'z'))",
    ),
}
