"""What resident rows cost: against a file of the same rows, when a little is new, and when many ask at once.

The same statements go through the engine over a topic whose rows are in the hot store, and through DuckDB
alone over a Parquet file of these rows. Latencies are those of a gateway over HTTP. Neither side is tuned.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import Lab, Report, interleave, median, note, open_lab, percentile, run
from federation.engine.run.answer import Answer
from federation.engine.run.query import run_query
from hotset.store.hot_store import StoreSettings, open_store
from stack.gateway import Gateway, Reply, choose_port, write_config
from stack.orders import PARTITIONS, TABLE

SHARED: Final = Path("/dev/shm")
LIMIT_BYTES: Final = 1 << 30
ROW_GROUP: Final = 122_880
NEW: Final = 1_000
EQUAL: Final = 32
PAUSE_S: Final = 0.05

STATEMENTS: Final[Mapping[str, str]] = {
    "count": "SELECT count(*) FROM {t}",
    "group": "SELECT region, count(*), sum(items) FROM {t} GROUP BY region ORDER BY region",
    "filter": "SELECT sum(items) FROM {t} WHERE amount > 250 AND region = 'east'",
    "find": "SELECT * FROM {t} WHERE order_id = 777",
    "top": "SELECT order_id, customer FROM {t} ORDER BY order_id DESC LIMIT 10",
}


def main(report: Report, small: bool) -> None:  # noqa: FBT001
    """Measure resident rows, new rows, equal questions and the bytes that all of it took."""
    records, runs, turns = (4_000, 2, 3) if small else (1_000_000, 15, 200)
    folder = Path(tempfile.mkdtemp(prefix="kafkaiceberg-bench-", dir=SHARED if SHARED.is_dir() else None))
    try:
        with open_lab("hot-store", PARTITIONS) as lab:
            lab.add_table(TABLE)
            note(f"hot_store: producing {records} records")
            lab.produce(1, records)
            kept = {"hotStore": "on_demand", "hotStorePath": str(folder), "hotStoreBytes": str(LIMIT_BYTES)}
            options = lab.options(TABLE, **kept)
            _against_parquet(report, lab, options, records, runs)
            _at_once(report, lab, options, records)
            _new_rows(report, lab, kept, records + NEW, turns)
            store = open_store(StoreSettings(str(folder), LIMIT_BYTES))
            used = 0 if store is None else store.space.used_bytes()
            report.case("hot_store_used", used / 1e6, "MB", limit_mb=LIMIT_BYTES / 1e6, records=records)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _against_parquet(report: Report, lab: Lab, options: Mapping[str, str], records: int, runs: int) -> None:
    note("hot_store: reading everything once")
    rows = run_query(f"SELECT * FROM {TABLE}", {TABLE: options}).rows
    if rows.num_rows != records:
        raise RuntimeError(f"{rows.num_rows} rows were read, not {records}")
    path = lab.folder / "rows.parquet"
    pq.write_table(rows, path, compression="zstd", row_group_size=ROW_GROUP)
    file = duckdb.connect()
    for name, statement in STATEMENTS.items():
        note(f"hot_store: {name}")
        stages: list[Mapping[str, float]] = []

        def resident(
            sql: str = statement.format(t=TABLE), stages: list[Mapping[str, float]] = stages
        ) -> pa.Table:
            answer = run_query(sql, {TABLE: options})
            _require_resident(answer, records)
            stages.append(answer.stages_ms)
            return answer.rows

        def parquet(sql: str = statement.format(t=f"read_parquet('{path}')")) -> pa.Table:
            return file.cursor().sql(sql).to_arrow_table()

        if resident().to_pylist() != parquet().to_pylist():
            raise RuntimeError(f"the two answers to {name} differ")
        times = interleave({"resident": resident, "parquet": parquet}, runs)
        resident_ms, parquet_ms = median(times["resident"]), median(times["parquet"])
        execute_ms = median([each["execute"] for each in stages[-runs:]])
        cpu_ratio = _cpu_ms(resident, runs) / _cpu_ms(parquet, runs)
        report.case(
            f"hot_store_{name}",
            execute_ms / parquet_ms,
            "ratio",
            runs=runs,
            records=records,
            parquet_ms=round(parquet_ms, 3),
            execute_ms=round(execute_ms, 3),
            statement_ms=round(resident_ms, 3),
            statement_ratio=round(resident_ms / parquet_ms, 3),
            cpu_ratio=round(cpu_ratio, 3),
        )


def _cpu_ms(action: Callable[[], object], runs: int) -> float:
    """What a call costs this process, which says more than a clock where others work too."""
    spent_ms = []
    for _ in range(runs):
        began_s = time.process_time()
        action()
        spent_ms.append((time.process_time() - began_s) * 1000)
    return median(spent_ms)


def _require_resident(answer: Answer, records: int) -> None:
    [receipt] = answer.receipts
    if (receipt.records_fetched, receipt.records_resident) != (0, records):
        raise RuntimeError(f"{receipt.records_fetched} records came from Kafka, none were new")


def _at_once(report: Report, lab: Lab, options: Mapping[str, str], records: int) -> None:
    note(f"hot_store: {EQUAL} equal questions at once")
    lab.produce(records + 1, NEW)
    together = threading.Barrier(EQUAL)

    def ask() -> int:
        together.wait()
        answer = run_query(f"SELECT count(*) FROM {TABLE}", {TABLE: options})
        if answer.rows.to_pylist() != [{"count_star()": records + NEW}]:
            raise RuntimeError("an answer lacks records")
        return answer.receipts[0].records_fetched

    with ThreadPoolExecutor(EQUAL) as pool:
        fetched = sum(pool.map(lambda _: ask(), range(EQUAL)))
    report.case("hot_store_at_once_read_share", NEW / max(fetched, 1), "share", at_least=1.0, questions=EQUAL)


def _new_rows(report: Report, lab: Lab, kept: Mapping[str, str], records: int, turns: int) -> None:
    note(f"hot_store: {turns} questions of a gateway with {NEW} new records each, {turns} with none")
    path = write_config(lab.folder, lab.bootstrap, lab.catalog, choose_port(0))
    text = path.read_text(encoding="utf-8")
    defaults = "".join(f'{name} = "{value}"\n' for name, value in kept.items())
    path.write_text(text.replace("[defaults]\n", f"[defaults]\n{defaults}"), encoding="utf-8")
    gateway = Gateway.start(lab.folder)
    try:
        _ask(gateway, records)
        nothing, new = [], []
        for turn in range(turns):
            nothing.append(_ask(gateway, records + turn * NEW))
            lab.produce(records + turn * NEW + 1, NEW)
            new.append(_ask(gateway, records + (turn + 1) * NEW))
            time.sleep(PAUSE_S)
    finally:
        gateway.stop()
    base_ms = median([reply.elapsed_ms for reply in nothing])
    added_ms = [reply.elapsed_ms - base_ms for reply in new]
    stages = {name: median([_stage(reply, name) for reply in new]) for name in new[0].table["stages_ms"]}
    extra = {"runs": turns, "nothing_new_ms": round(base_ms, 3), "stages_ms": stages}
    report.case("hot_store_new_added_p50", percentile(added_ms, 0.50), "ms", **extra)
    report.case("hot_store_new_added_p99", percentile(added_ms, 0.99), "ms", **extra)


def _ask(gateway: Gateway, records: int) -> Reply:
    reply = gateway.ask(f"SELECT region, count(*) FROM {TABLE} GROUP BY region")
    if sum(row[1] for row in reply.rows) != records:
        raise RuntimeError("an answer lacks records")
    return reply


def _stage(reply: Reply, name: str) -> float:
    return float(reply.table["stages_ms"][name])


if __name__ == "__main__":
    sys.exit(run(main))
