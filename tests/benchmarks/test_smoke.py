"""Each benchmark runs at tiny sizes and prints what a reader of its output relies on.

Figures are never looked at here, except that what has a target must not miss it: the only targets
are about being right.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from stack.java import ROOT

pytestmark = [pytest.mark.kafka, pytest.mark.long]

HOT_READ = {
    "hot_read_drain_against_consume",
    "hot_read_json_against_spark",
    "hot_read_peak_memory_drained_native",
}
KEYS = ["case", "value", "unit", "target", "ok"]


def run_small(module: str) -> list[dict[str, object]]:
    done = subprocess.run(
        [sys.executable, "-m", module, "--small"],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("module", "cases"),
    [
        (
            "benchmarks.boundary_cost",
            {
                "machine",
                "boundary_cost_50_snapshots_root",
                "boundary_cost_50_snapshots_expired",
                "boundary_cost_50_files_without_bounds",
            },
        ),
        (
            "benchmarks.freshness",
            {"machine", "freshness_p50", "freshness_p99", "freshness_first_answer_share"},
        ),
        (
            "benchmarks.union_overhead",
            {"machine", "union_overhead_200_hot_count", "union_overhead_500_hot_find"},
        ),
        (
            "benchmarks.json_decode",
            {"machine", "json_decode_flat", "json_decode_one_percent_bad_cost", "json_decode_against_loads"},
        ),
        pytest.param(
            "benchmarks.avro_read",
            {"machine", "avro_read_two_columns", "avro_read_against_deserializer"},
            marks=pytest.mark.registry,
        ),
        pytest.param(
            "benchmarks.cold_scan",
            {
                "machine",
                "cold_scan_point_against_files_by_hand",
                "cold_scan_range_spark_against_ours",
                "cold_scan_all_columns_with_deletes",
            },
            marks=pytest.mark.spark,
        ),
        ("benchmarks.hot_store", {"machine", "hot_store_group", "hot_store_at_once_read_share"}),
        pytest.param(
            "benchmarks.spark_union",
            {
                "machine",
                "spark_union_200_hot_count_table_against_frozen",
                "spark_union_1000_hot_top_source_against_by_hand",
            },
            marks=pytest.mark.spark,
        ),
        pytest.param(
            "benchmarks.hot_read",
            {"machine", *HOT_READ},
            marks=pytest.mark.spark,
        ),
    ],
)
def test_a_benchmark_prints_one_json_object_for_each_case(module: str, cases: set[str]) -> None:
    lines = run_small(module)

    assert all(list(line)[: len(KEYS)] == KEYS for line in lines)
    assert all(line["ok"] is None if line["target"] is None else line["ok"] is True for line in lines)
    found = [line["case"] for line in lines]
    assert cases <= set(found)
    assert len(set(found)) == len(found)
