"""Faults of records: damaged on disk, of every size and codec, no rows at all, or compacted away."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from foundation.errors import KafkaIcebergError
from tests.builders import delete_records, produce, wait_until
from tests.oracle import comparators
from tests.oracle.checker import Verdict
from tests.oracle.faults.round import Round
from tests.oracle.world import World

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
POISON = [
    b"{",
    b"\xff\xfe",
    b"[]",
    b"",
    b'{"seq": 1}',
    b'{"producer": "a", "seq": "x"}',
    b'{"producer":"a"} {}',
]


def k15_corrupt_batch(round_: Round) -> None:
    """A bit flipped in a record batch on the broker's disk."""
    here = round_.begun()
    round_.some(here)
    here.fill(3, 0)
    [log] = Path(round_.arena.broker.directory, "records", f"{here.lake.topic}-0").glob("*.log")
    whole = log.read_bytes()
    where = len(whole) - round_.rng.randint(2, 20)
    bit = 1 << round_.rng.randint(0, 7)
    round_.inject(lambda: _write(log, where, whole[where] ^ bit))
    round_.expect(here.having(readTimeoutMs="10000", noProgressTimeoutMs="3000"), Verdict.DECLARED)
    _write(log, where, whole[where])
    round_.heals(here)


def k16_codecs_and_sizes(round_: Round) -> None:
    """Every codec, in and out of transactions, and records from nothing to more than one fetch takes."""
    here = round_.world(max_message_bytes="3145728")
    rng = round_.rng
    for codec in rng.sample(CODECS, 3):
        sender = here.sender(codec, transactional=True, compression_type=codec, message_max_bytes="3000000")
        for ending in (sender.commit, sender.abort, sender.commit):
            sender.begin()
            padding = rng.choice([0, 10, 1000, 100_000, 1_100_000, 2_500_000])
            key = rng.choice([None, b"", b"key"])
            round_.inject()
            sender.send(rng.randint(1, 3), rng.randint(0, 1), padding=padding, key=key, headers={"h": b"\0"})
            ending()
    round_.ask(here)
    round_.freeze(here, {0: rng.randint(0, here.journal.end_of(0))})
    round_.heals(here)


def s2_poison(round_: Round) -> None:
    """A record that is no row of the table, anywhere in the hot range."""
    here = round_.begun()
    round_.some(here)
    value = round_.rng.choice(POISON)
    round_.inject()
    [(partition, offset)] = produce(here.lake.bootstrap, here.lake.topic, [value], partition=1)
    round_.some(here)
    round_.expect(here, Verdict.DECLARED)
    with contextlib.suppress(KafkaIcebergError):
        round_.freeze(here)
    round_.expect(here, Verdict.DECLARED)
    # Whoever has looked at the record may give it up, and the answer says so.
    delete_records(here.lake.bootstrap, here.lake.topic, {partition: offset + 1})
    round_.ask(here.having(failOnDataLoss="false"))


def k18_compacted(round_: Round) -> None:
    """A compacted topic: what the table holds stays, and what is left of the log is read once."""
    config = {
        "cleanup_policy": "compact",
        "segment_ms": "100",
        "min_cleanable_dirty_ratio": "0.01",
        "max_compaction_lag_ms": "200",
        "min_compaction_lag_ms": "0",
    }
    here = round_.world(**config)
    keyed = here.sender("keyed")
    # Only what is in the table is ever superseded here: a log must not be compacted before it is frozen.
    for key in (b"a", b"b", b"a", b"c", b"a"):
        keyed.send(1, 0, key=key)
    round_.freeze(here)
    time.sleep(0.3)
    for key in (b"d", b"e", b"f"):
        keyed.send(1, 0, key=key)
        time.sleep(0.15)
    round_.inject()
    wait_until(lambda: _left(here) < 8, "the topic to be compacted")
    round_.ask(here)
    round_.freeze(here)
    keyed.send(1, 1, key=b"g")
    round_.heals(here)


def _left(here: World) -> int:
    """How many records the log still has."""
    consumer = comparators.consumer_of(here.lake)
    try:
        return len(comparators.tail(consumer, here.lake, {0: 0}))
    finally:
        consumer.close()


def _write(path: Path, where: int, byte: int) -> None:
    with path.open("r+b") as file:
        file.seek(where)
        file.write(bytes([byte]))
