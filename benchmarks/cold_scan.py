"""What reading a snapshot costs: against DuckDB given the files by hand, and against Spark's Iceberg reader.

Five queries over one table, asked in turn within one run: a filtered aggregate, some columns, all columns, a
range of a sorted column, and one value of an unsorted one. Then the same with one row in a hundred deleted by
position, by Iceberg's runtime on Spark. It must not compare two different answers.
"""

from __future__ import annotations

import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa

from benchmarks.harness import Report, interleave, median, note, run
from benchmarks.manifests import FILES_A_DAY, day, make_table
from coldset.plan.file_plan import plan_matching
from coldset.plan.parquet_scan import plan_parquet_scan
from coldset.prune.predicate import Compared
from coldset.table.catalog import open_catalog, pin
from federation.engine.run.answer import Limits
from federation.engine.run.query import run_query
from federation.options.table_definition import merge_options
from stack.spark_writer import SparkWriter

TABLE: Final = "lake.rows"
FILES: Final = 10
ALL: Final = Limits(timeout_ms=600_000, max_rows=10**9, max_bytes=1 << 40)

QUERIES: Final = {
    "aggregate": "SELECT grp, sum(price) AS total FROM {t} WHERE key < 500000 GROUP BY grp ORDER BY grp",
    "three_columns": "SELECT id, key, price FROM {t}",
    "all_columns": "SELECT * FROM {t}",
    "range": "SELECT sum(price) AS total FROM {t} WHERE id BETWEEN {middle} AND {middle} + {rows} / 100",
    "point": "SELECT * FROM {t} WHERE key = 777 ORDER BY id",
}
# Spark takes long to hand over many rows, which says nothing of its reader.
ON_SPARK: Final = ("aggregate", "range", "point")

ROWS: Final = """
SELECT range AS id, (hash(range) % 1000000)::BIGINT AS key, (hash(range + 7) % 100)::INTEGER AS grp,
       ((hash(range + 3) % 100000) / 100)::DOUBLE AS price, 'user_' || (hash(range + 1) % 50000) AS customer,
       TIMESTAMP '2026-01-01' + to_milliseconds(range) AS at, hash(range + 5) % 2 = 0 AS flag,
       'note ' || (hash(range) % 1000) AS note
FROM range({first}, {last})
"""


def main(report: Report, small: bool) -> None:  # noqa: FBT001
    """Measure planning, then five queries, without deletes and with them."""
    _compare_plans(report, *((20, 400) if small else (500, 10_000)))
    rows, runs = (20_000, 2) if small else (10_000_000, 7)
    with tempfile.TemporaryDirectory() as temporary, SparkWriter(Path(temporary)) as writer:
        folder = Path(temporary)
        note(f"cold_scan: writing {rows} rows")
        _fill(folder, rows)
        for name in QUERIES:
            _compare(report, folder, name, rows, runs)
        for name in ON_SPARK:
            _compare_spark(report, folder, writer, name, rows, runs)
        note("cold_scan: deleting one row in a hundred by position")
        plain = _paths(folder)
        writer.sql(folder / "catalog.db", f"DELETE FROM lake.{TABLE} WHERE id % 100 = 7")
        for name in QUERIES:
            _compare_deleted(report, folder, plain, name, rows, runs)


def _compare_plans(report: Report, manifests: int, files: int) -> None:
    """A new snapshot first: some of it, then all; then what is known is asked again, and something else."""
    name = "lake.planned"
    with tempfile.TemporaryDirectory() as temporary:
        make_table(_properties(Path(temporary)), name, manifests=manifests, files=files)
        pinned = pin(open_catalog("lake", _properties(Path(temporary))), name)

        def plan_ms(first_day: int | None) -> float:
            where = None if first_day is None else Compared("seen", ">=", day(first_day))
            began_s = time.perf_counter()
            found = plan_matching(pinned, where)
            took_ms = (time.perf_counter() - began_s) * 1000
            if len(found.files) != files - (first_day or 0) * FILES_A_DAY:
                raise RuntimeError("cold_scan: a plan has other files than the rows asked for")
            return took_ms

        days = files // FILES_A_DAY
        taken = {
            "first_of_one_day": [plan_ms(days - 1)],
            "first": [plan_ms(None)],
            "other_predicate": [plan_ms(number) for number in range(1, min(days, 22))],
            "cached": [plan_ms(1) for _ in range(21)],
        }
    for case, times_ms in taken.items():
        aim = {"aim": 20} if case in ("cached", "other_predicate") else {}
        report.case(
            f"cold_scan_planning_{case}",
            median(times_ms),
            "ms",
            runs=len(times_ms),
            manifests=manifests,
            files=files,
            **aim,
        )


def _properties(folder: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": folder.as_uri()}


def _fill(folder: Path, rows: int) -> None:
    catalog = open_catalog("lake", _properties(folder))
    catalog.create_namespace("lake")
    each = rows // FILES
    for number in range(FILES):
        text = ROWS.format(first=number * each, last=(number + 1) * each)
        batch: pa.Table = duckdb.sql(text).to_arrow_table()
        if number == 0:
            modes = {"write.delete.mode": "merge-on-read", "format-version": "2"}
            catalog.create_table(TABLE, schema=batch.schema, properties=modes)
        catalog.load_table(TABLE).append(batch)


def _paths(folder: Path) -> tuple[str, ...]:
    scan = plan_parquet_scan(pin(open_catalog("lake", _properties(folder)), TABLE), {})
    if scan is None or scan.rest:
        raise RuntimeError("cold_scan: the engine does not read all files itself")
    return scan.paths


def _compare(report: Report, folder: Path, name: str, rows: int, runs: int) -> None:
    ours = partial(_ask, folder, _text(name, rows, TABLE))
    by_hand = partial(_by_hand, _text(name, rows, f"read_parquet({list(_paths(folder))})"))
    if _alike(ours()) != _alike(by_hand()):
        raise RuntimeError(f"cold_scan: {name} is answered differently")
    _report(report, f"cold_scan_{name}_against_files_by_hand", {"ours": ours, "by_hand": by_hand}, runs, 1.1)


def _compare_deleted(
    report: Report, folder: Path, plain: tuple[str, ...], name: str, rows: int, runs: int
) -> None:
    """Against the files by hand without any delete, which is the least that could be done."""
    ours = partial(_ask, folder, _text(name, rows, TABLE))
    by_hand = partial(_by_hand, _text(name, rows, f"read_parquet({list(plain)})"))
    left = _by_hand(_text(name, rows, f"(FROM read_parquet({list(plain)}) WHERE id % 100 <> 7)"))
    if _alike(ours()) != _alike(left):
        raise RuntimeError(f"cold_scan: {name} is answered differently with deletes")
    _report(report, f"cold_scan_{name}_with_deletes", {"ours": ours, "by_hand": by_hand}, runs, 2.0)


def _compare_spark(
    report: Report, folder: Path, writer: SparkWriter, name: str, rows: int, runs: int
) -> None:
    text = _text(name, rows, f"lake.{TABLE}")
    spark = partial(writer.rows, folder / "catalog.db", text)
    spark()
    taken = interleave({"ours": partial(_ask, folder, _text(name, rows, TABLE)), "spark": spark}, runs)
    ours_ms, spark_ms = median(taken["ours"]), median(taken["spark"])
    report.case(
        f"cold_scan_{name}_spark_against_ours",
        spark_ms / ours_ms,
        "ratio",
        aim=4,
        runs=runs,
        ours_ms=round(ours_ms, 1),
        spark_ms=round(spark_ms, 1),
    )


def _report(report: Report, case: str, ways: dict[str, Any], runs: int, aim: float) -> None:
    taken = interleave(ways, runs)
    ours_ms, by_hand_ms = median(taken["ours"]), median(taken["by_hand"])
    report.case(
        case,
        ours_ms / by_hand_ms,
        "ratio",
        aim=aim,
        runs=runs,
        ours_ms=round(ours_ms, 1),
        by_hand_ms=round(by_hand_ms, 1),
    )


def _text(name: str, rows: int, source: str) -> str:
    return QUERIES[name].format(t=source, rows=rows, middle=rows // 2)


def _ask(folder: Path, text: str) -> pa.Table:
    properties = {f"catalog.{key}": value for key, value in _properties(folder).items()}
    options = merge_options(TABLE, {"read": "cold", "catalog.name": "lake", **properties}, {})
    return run_query(text, {TABLE: options}, ALL).rows


def _by_hand(text: str) -> pa.Table:
    return duckdb.sql(text).to_arrow_table()


def _alike(found: pa.Table) -> Any:
    # Sums of the same numbers in another order differ in their last digits.
    if found.num_rows > 1000:
        return found.num_rows, found.schema.names
    return [
        [round(value, 3) if isinstance(value, float) else value for value in row.values()]
        for row in found.to_pylist()
    ]


if __name__ == "__main__":
    sys.exit(run(main))
