"""Logs that lose their newest records, as an unclean leader election makes them do.

It is done here to the only replica's file while the broker is down: its newest batches are cut off, and the
broker comes back as the leader of a later epoch.
"""

from __future__ import annotations

import struct
from pathlib import Path

from stack import KafkaBroker
from tests.builders import Lake, produce


def send(lake: Lake, count: int, *, seq: int = 0) -> None:
    """Send records, each in a batch of its own."""
    for i in range(count):
        produce(lake.bootstrap, lake.topic, [{"producer": "p", "seq": seq + i}])


def restart(broker: KafkaBroker, lake: Lake, *, keeping: int | None = None) -> None:
    """Stop the broker, leave only so many record batches of a lake's topic, and start it again."""
    broker.stop()
    if keeping is not None:
        _cut_back(broker.records / f"{lake.topic}-0", keeping)
        (broker.records / ".kafka_cleanshutdown").unlink(missing_ok=True)
    broker.restart()


def _cut_back(folder: Path, batches: int) -> None:
    [log] = folder.glob("*.log")
    whole = log.read_bytes()
    end = 0
    for _ in range(batches):
        end += 12 + struct.unpack_from(">i", whole, end + 8)[0]
    log.write_bytes(whole[:end])
    for index in folder.glob("*.*index"):
        index.unlink()
