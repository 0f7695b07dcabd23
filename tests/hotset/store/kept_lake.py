"""Lakes whose hot records are kept, what is kept of them, and answers with and without it.

An answer comes with what its receipt says of where records came from.
"""

from __future__ import annotations

from federation.table import Scan
from hotset.store.chunk import Chunk
from hotset.store.hot_store import HotStore, StoreSettings, open_store
from hotset.store.log_folder import LogFolder
from tests.builders import Lake, produce


def store_of(lake: Lake) -> HotStore:
    settings = StoreSettings(lake.extra["hotStorePath"], int(lake.extra["hotStoreBytes"]))
    store = open_store(settings)
    assert store is not None
    return store


def chunks_of(lake: Lake) -> list[Chunk]:
    """What is kept of any topic."""
    space = store_of(lake).space
    return [chunk for path in space.root.glob("logs/*") for chunk in LogFolder(space, path).chunks()]


def ranges_of(lake: Lake) -> list[tuple[int, int, int]]:
    return sorted((r.partition, r.start, r.end) for chunk in chunks_of(lake) for r in chunk.info.ranges)


def send(lake: Lake, count: int, *, first: int = 0, partition: int = 0) -> None:
    records = [{"producer": "p", "seq": first + i, "run": "r" * (i % 3)} for i in range(count)]
    produce(lake.bootstrap, lake.topic, records, partition=partition)


def read(lake: Lake, *columns: str, **options: str) -> tuple[list[dict[str, object]], int, int]:
    """All rows in order, how many records came from Kafka, and how many from the store."""
    scan = lake.open(**options).scan(columns or None)
    rows = scan.to_arrow().to_pylist()
    receipt = scan.receipt
    return sorted(rows, key=str), receipt.records_fetched, receipt.records_resident


def plainly(lake: Lake, *columns: str, **options: str) -> list[dict[str, object]]:
    return read(lake, *columns, hotStore="off", **options)[0]


def counted(scan: Scan) -> tuple[object, ...]:
    found = scan.receipt
    return found.rows_hot, found.rows_skipped, found.records_bad, found.first_bad, found.newest_record_ms
