"""What the hot half costs: the same rows, partly hot, against all of them frozen.

Both tables are filled from one topic and asked in turn within one run; the frozen one is read as a
plain table, so Kafka is not even asked. It must not report a ratio of two different answers.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from benchmarks.harness import Lab, Report, interleave, median, note, open_lab, run
from federation.engine.run.query import run_query

UNION, FROZEN = "lake.orders", "lake.frozen"

QUERIES = {
    "count": "SELECT count(*) FROM {table}",
    "group": "SELECT region, count(*), sum(items), max(amount) FROM {table} GROUP BY region ORDER BY region",
    "find": "SELECT order_id, customer, amount, note FROM {table} WHERE order_id = {number}",
}


def main(report: Report, small: bool) -> None:  # noqa: FBT001
    """Measure three queries at two sizes of the hot half."""
    cold, sizes, runs = (5_000, (200, 500), 2) if small else (1_000_000, (10_000, 100_000), 9)
    with open_lab("union") as lab:
        lab.add_table(UNION)
        lab.add_table(FROZEN)
        note(f"union_overhead: producing and freezing {cold} rows")
        lab.produce(1, cold)
        lab.freeze(UNION)
        lab.freeze(FROZEN)
        produced = cold
        for hot in sizes:
            note(f"union_overhead: {cold} rows cold, {hot} hot")
            lab.produce(produced + 1, cold + hot - produced)
            produced = cold + hot
            lab.freeze(FROZEN)
            for name, query in QUERIES.items():
                _compare(report, lab, f"union_overhead_{hot}_hot_{name}", query, produced, runs)


def _compare(report: Report, lab: Lab, case: str, query: str, number: int, runs: int) -> None:
    union = partial(_ask, query.format(table=UNION, number=number), lab.options(UNION))
    frozen = partial(_ask, query.format(table=FROZEN, number=number), lab.options(FROZEN, read="cold"))
    if union() != frozen():
        raise RuntimeError(f"{case}: the two tables answer differently")
    taken = interleave({"union": union, "frozen": frozen}, runs)
    union_ms, frozen_ms = median(taken["union"]), median(taken["frozen"])
    report.case(
        case,
        union_ms / frozen_ms,
        "ratio",
        runs=runs,
        union_ms=round(union_ms, 1),
        frozen_ms=round(frozen_ms, 1),
        added_ms=round(union_ms - frozen_ms, 1),
    )


def _ask(sql: str, options: dict[str, str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = run_query(sql, {options["path"]: options}).rows.to_pylist()
    return rows


if __name__ == "__main__":
    sys.exit(run(main))
