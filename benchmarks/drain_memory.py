"""Read a topic in a process of its own, and print how much memory that took at its peak.

Started by `hot_read` with the broker, the topic, the bound in bytes and what to do with what is read. Some
records are read before, so that only reading is counted and neither libraries nor connections.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from benchmarks.flat import DDL
from federation.cut.take import take_cut
from federation.options.table_definition import merge_options
from federation.plan import answer_schema, plan_hot
from federation.read.split_reader import read_split
from foundation.deadline import Deadline
from hotset.drain.drain_ranges import drain
from hotset.kafka.client import connect
from hotset.kafka.log_bounds import read_log_bounds
from hotset.kafka.offsets import Isolation, OffsetRange
from hotset.kafka.record_source import DrainLimits

READ_MS = 3_600_000


def main(bootstrap: str, topic: str, bound: int, way: str) -> None:
    """Print bytes at the peak of reading all above those before, and the records read."""
    ranges = _ranges(bootstrap, topic)
    read = {"drained": _drained, "decoded": _decoded}[way]
    for _ in read(bootstrap, topic, tuple(OffsetRange(r.partition, 0, 100) for r in ranges), bound):
        pass
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak is from now on
    rows = sum(batch.num_rows for batch in read(bootstrap, topic, ranges, bound))
    print(json.dumps({"bytes": _memory("VmHWM") - before, "records": rows}))


def _ranges(bootstrap: str, topic: str) -> tuple[OffsetRange, ...]:
    client = connect({"bootstrap.servers": bootstrap})
    bounds = read_log_bounds(client, topic, Isolation.READ_COMMITTED, Deadline.after_ms(60_000))
    return tuple(OffsetRange(found.partition, 0, found.end) for found in bounds.partitions)


def _drained(
    bootstrap: str, topic: str, ranges: tuple[OffsetRange, ...], bound: int
) -> Iterator[pa.RecordBatch]:
    client = connect({"bootstrap.servers": bootstrap})
    limits = DrainLimits(memory_bytes=bound)
    return drain(client, topic, ranges, Isolation.READ_COMMITTED, Deadline.after_ms(READ_MS), limits)


def _decoded(
    bootstrap: str, topic: str, _ranges: tuple[OffsetRange, ...], bound: int
) -> Iterator[pa.RecordBatch]:
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": topic,
        "read": "hot",
        "schema": DDL,
        "maxDrainBytes": str(bound),
        "readTimeoutMs": str(READ_MS),
    }
    taken = take_cut(merge_options(topic, options, {}))
    for split in plan_hot(taken, answer_schema(taken), spread=False):
        yield from read_split(split)


def _memory(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    if found is None:
        raise RuntimeError(f"the system does not tell {name}")
    return int(found.group(1)) * 1024


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
