"""How long after its acknowledgement is a record in an answer, over HTTP, as a user asks.

Each record is asked for once, at once: an answer without it is a failure, not a slower success. It
must not retry, and must not look into the gateway, which runs as a process of its own.
"""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from benchmarks.harness import Lab, Report, note, open_lab, percentile, run
from stack.gateway import Gateway, choose_port, write_config
from stack.orders import TABLE

FREEZE_PAUSE_S = 2.0


def main(report: Report, small: bool) -> None:  # noqa: FBT001
    """Measure a table nobody commits to, and then one that is committed to every few seconds."""
    cold, hot, records = (2_000, 100, 10) if small else (100_000, 1_000, 300)
    with open_lab("freshness") as lab:
        note(f"freshness: {cold} rows cold, {hot} hot")
        lab.add_table(TABLE)
        lab.produce(1, cold)
        lab.freeze(TABLE)
        lab.produce(cold + 1, hot)
        write_config(lab.folder, lab.bootstrap, lab.catalog, choose_port(0))
        gateway = Gateway.start(lab.folder)
        try:
            _ask(gateway, 1)  # The first statement of a process opens its connections.
            _measure(report, lab, gateway, "freshness", cold + hot + 1, records)
            freezes = _Freezes(lab)
            try:
                _measure(report, lab, gateway, "freshness_while_freezing", cold + hot + records + 1, records)
            finally:
                freezes.stop()
            report.case("freshness_while_freezing_commits", freezes.done, "commits")
        finally:
            gateway.stop()


def _measure(report: Report, lab: Lab, gateway: Gateway, case: str, first: int, records: int) -> None:
    taken_ms, at_once = [], 0
    rows_hot = 0
    for number in range(first, first + records):
        acknowledged_s = lab.send(number)
        found, rows_hot = _ask(gateway, number)
        taken_ms.append((time.monotonic() - acknowledged_s) * 1000)
        at_once += found == 1
    extra = {"runs": records, "rows_hot_at_end": rows_hot}
    report.case(f"{case}_p50", percentile(taken_ms, 0.50), "ms", **extra)
    report.case(f"{case}_p99", percentile(taken_ms, 0.99), "ms", **extra)
    report.case(f"{case}_first_answer_share", at_once / records, "share", at_least=1.0, **extra)


def _ask(gateway: Gateway, number: int) -> tuple[int, int]:
    reply = gateway.ask(f"SELECT count(*) FROM {TABLE} WHERE order_id = {number}")
    return reply.rows[0][0], reply.table["rows_hot"]


class _Freezes:
    """Freezes again and again in a thread, until stopped."""

    def __init__(self, lab: Lab) -> None:
        self.done = 0
        self._lab = lab
        self._stopping = threading.Event()
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._running = self._pool.submit(self._run)

    def stop(self) -> None:
        self._stopping.set()
        self._pool.shutdown()
        self._running.result()

    def _run(self) -> None:
        while not self._stopping.wait(FREEZE_PAUSE_S):
            self._lab.freeze(TABLE)
            self.done += 1


if __name__ == "__main__":
    sys.exit(run(main))
