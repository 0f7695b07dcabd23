"""`make bench`: all benchmarks, one after the other.

They never overlap, since each is about time on one machine; it must not do more than call them.
"""

from __future__ import annotations

import sys

from benchmarks import (
    avro_read,
    boundary_cost,
    cold_scan,
    freshness,
    hot_read,
    hot_store,
    json_decode,
    spark_union,
    union_overhead,
)
from benchmarks.harness import Report, run


def main(report: Report, small: bool) -> None:  # noqa: FBT001
    """Run all benchmarks; those with Spark come last."""
    boundary_cost.main(report, small)
    json_decode.main(report, small)
    freshness.main(report, small)
    union_overhead.main(report, small)
    cold_scan.main(report, small)
    hot_store.main(report, small)
    avro_read.main(report, small)
    hot_read.main(report, small)
    spark_union.main(report, small)


if __name__ == "__main__":
    sys.exit(run(main))
