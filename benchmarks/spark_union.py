"""Spark over the union: by ephemeral snapshots, by the Python source, and by hand, against all rows frozen.

All four ways are asked in turn within one run, and must give the same answers. By hand is what people write
without this project: Spark's Kafka source with `from_json`, and the table, with the offsets looked up outside
of the clock. Needs the jars of Spark's writer.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pyiceberg.catalog import load_catalog
from pyspark.sql import DataFrame, SparkSession

import kafkaiceberg.spark as ki
from benchmarks.harness import Lab, Report, interleave, median, note, open_lab, run, time_ms
from benchmarks.order_rows import append_orders, order_rows
from federation.options import Config
from hotset.store import StoreSettings, open_store
from stack.java import ROOT
from stack.orders import NAMESPACE, TOPIC

UNION, FROZEN = "lake.orders", "lake.frozen"
JARS: Final = ROOT / "build" / "jars" / "spark-writer"
_JSON: Final = (
    "order_id bigint, customer string, region string, amount double, items int, placed_at timestamp, "
    "note string"
)

Query = Callable[[DataFrame], list[Any]]


def queries(hot: int, cold: int) -> dict[str, tuple[Query, list[str], str | None]]:
    """Return the questions, by name: the question, the columns it needs, and its filter as SQL."""
    late = f"placed_at >= TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL {hot - 300_000} MILLISECOND"
    late = f"order_id >= {hot - 3_000}" if hot < 300_000 else late
    return {
        "count": (lambda frame: [frame.count()], ["region"], None),
        "group": (
            lambda frame: sorted(
                (row[0], round(row[1], 2), row[2])
                for row in frame.groupBy("region").agg({"amount": "sum", "items": "max"}).collect()
            ),
            ["region", "amount", "items"],
            None,
        ),
        "point_hot": (_find(hot), ["order_id", "customer", "amount"], f"order_id = {hot}"),
        "point_cold": (_find(cold), ["order_id", "customer", "amount"], f"order_id = {cold}"),
        "late": (
            lambda frame: [frame.where(late).where("region = 'north'").count()],
            ["order_id", "placed_at", "region"],
            f"{late} AND region = 'north'",
        ),
        "top": (
            lambda frame: [
                row.order_id
                for row in frame.orderBy(frame.amount.desc(), "order_id")
                .select("order_id")
                .limit(20)
                .collect()
            ],
            ["order_id", "amount"],
            None,
        ),
    }


def _find(number: int) -> Query:
    return lambda frame: [
        tuple(row)
        for row in frame.where(f"order_id = {number}").select("order_id", "customer", "amount").collect()
    ]


def main(report: Report, small: bool) -> None:  # noqa: FBT001
    """Measure six questions at two sizes of the hot half."""
    cold, sizes, runs = (20_000, (200, 1_000), 1) if small else (5_000_000, (10_000, 1_000_000), 5)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with open_lab("spark_union") as lab:
        spark = _session(lab)
        try:
            for table in (UNION, FROZEN):
                lab.add_table(table)
                append_orders(lab.catalog, table, 1, cold, _options(lab))
            produced = cold
            for hot in sizes:
                note(f"spark_union: {cold} rows cold, {hot} hot")
                lab.produce(produced + 1, cold + hot - produced)
                load_catalog(NAMESPACE, **lab.catalog).load_table(FROZEN).append(
                    order_rows(produced + 1, cold + hot - produced)
                )
                produced = cold + hot
                _first_use(report, lab, spark, hot)
                _compare(report, lab, spark, cold, hot, runs)
        finally:
            spark.stop()


def _first_use(report: Report, lab: Lab, spark: SparkSession, hot: int) -> None:
    """Say what the first use adds with nothing resident, and then with 1,000 new records."""
    store = open_store(_store(lab))
    assert store is not None
    for path in store.folder.rglob("*.parquet"):
        path.unlink()
    published_ms = time_ms(lambda: _ours(lab, spark))
    report.case(f"spark_union_{hot}_hot_first_use_added", published_ms, "ms", aim=1500)


def _compare(report: Report, lab: Lab, spark: SparkSession, cold: int, hot: int, runs: int) -> None:
    frozen = _frozen(lab, spark)
    by_hand = _by_hand(lab, spark)
    for name, (question, columns, where) in queries(cold + hot, cold // 2).items():
        ways: dict[str, Callable[[], Any]] = {
            "frozen": lambda ask=question: ask(frozen),
            "by_hand": lambda ask=question: ask(by_hand()),
            "table": lambda ask=question: ask(_ours(lab, spark)),
            "source": lambda ask=question, c=columns, w=where: ask(_source(lab, spark, c, w)),
        }
        answers = {way: json.dumps(ask(), default=str) for way, ask in ways.items()}
        if len(set(answers.values())) > 1:
            raise RuntimeError(f"{name}: the ways answer differently: {answers}")
        taken = {way: median(found) for way, found in interleave(ways, runs).items()}
        told = {f"{way}_ms": round(ms, 1) for way, ms in taken.items()}
        report.case(
            f"spark_union_{hot}_hot_{name}_table_against_frozen",
            taken["table"] / taken["frozen"],
            "ratio",
            runs=runs,
            aim="1.15 plus 60 ms",
            **told,
        )
        report.case(
            f"spark_union_{hot}_hot_{name}_by_hand_against_table", taken["by_hand"] / taken["table"], "ratio"
        )
        report.case(
            f"spark_union_{hot}_hot_{name}_source_against_by_hand",
            taken["source"] / taken["by_hand"],
            "ratio",
        )


def _options(lab: Lab) -> dict[str, str]:
    return lab.options(UNION, hotStorePath=str(lab.folder / "store"))


def _store(lab: Lab) -> StoreSettings:
    return StoreSettings(str(lab.folder / "store"), 1 << 30)


def _ours(lab: Lab, spark: SparkSession) -> DataFrame:
    given = {key: value for key, value in _options(lab).items() if key != "path"}
    return ki.table(spark, UNION, config=Config(), **given)


def _source(lab: Lab, spark: SparkSession, columns: list[str], where: str | None) -> DataFrame:
    given = {key: value for key, value in _options(lab).items() if key != "path"}
    given |= {"columns": ",".join(columns), "hotStore": "on_demand"} | (
        {} if where is None else {"filter": where}
    )
    return spark.read.format("kafkaiceberg").options(**given).load(UNION)


def _frozen(lab: Lab, spark: SparkSession) -> DataFrame:
    """Return the frozen table, read by its path as Spark's own reader does."""
    table = load_catalog(NAMESPACE, **lab.catalog).load_table(FROZEN)
    folder = lab.folder / f"frozen-{time.time_ns()}" / "metadata"
    folder.mkdir(parents=True)
    source = Path(table.metadata_location.removeprefix("file://"))
    (folder / "v1.metadata.json").write_bytes(source.read_bytes())
    (folder / "version-hint.text").write_text("1", encoding="ascii")
    return spark.read.format("iceberg").load(folder.parent.as_uri())


def _by_hand(lab: Lab, spark: SparkSession) -> Callable[[], DataFrame]:
    from pyspark.sql import functions as f

    table = load_catalog(NAMESPACE, **lab.catalog).load_table(UNION)
    folder = lab.folder / f"by-hand-{time.time_ns()}" / "metadata"
    folder.mkdir(parents=True)
    source = Path(table.metadata_location.removeprefix("file://"))
    (folder / "v1.metadata.json").write_bytes(source.read_bytes())
    (folder / "version-hint.text").write_text("1", encoding="ascii")

    def frame() -> DataFrame:
        cold = spark.read.format("iceberg").load(folder.parent.as_uri())
        records = (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", lab.bootstrap)
            .option("subscribe", TOPIC)
            .option("startingOffsets", "earliest")
            .load()
        )
        hot = records.select(f.from_json(f.col("value").cast("string"), _JSON).alias("r")).select("r.*")
        return cold.unionByName(hot)

    return frame


def _session(lab: Lab) -> SparkSession:
    jars = ",".join(str(path) for path in sorted(JARS.glob("*.jar")))
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", jars)
        .config("spark.driver.memory", "4g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.local.dir", str(lab.folder))
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


if __name__ == "__main__":
    sys.exit(run(main))
