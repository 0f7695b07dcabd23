"""Ways to ask: those of this project, which run its real code, and three that people use instead.

Each way is a function that asks once or more and yields what its reader got. A way says which snapshot and
which ends its answer is of; whether that is true is for the judge. The last three are the comparators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import federation.cut.take as take
from coldset.table.catalog import open_catalog, pin
from federation.boundary.assumptions import Basis
from federation.boundary.committed import CommittedOffsets
from federation.cut.cut import Cut
from federation.errors import CutError
from federation.table import FederatedTable, Scan
from foundation.deadline import Deadline
from hotset.drain.drain_ranges import drain
from hotset.kafka.client import connect
from hotset.kafka.offsets import Isolation, OffsetRange
from hotset.kafka.pending import EARLIEST, LATEST
from tests.oracle.model.edges import Edges
from tests.oracle.model.state import FOREIGN, TABLE, TOPIC, World

Ranges = tuple[OffsetRange, ...]


class Answer(NamedTuple):
    """The rows a reader got, and what it was told, or knows, of where they are from."""

    rows: tuple[int, ...]
    snapshot: int | None
    topic: int
    ends: Mapping[int, int]
    gaps: Ranges = ()
    lost: Ranges = ()


Asks = Callable[[], None]
Way = Callable[[Edges, World, Asks], Iterator[Answer]]


def options_of(world: World) -> dict[str, str]:
    return {
        "path": TABLE,
        "subscribe": TOPIC,
        "kafka.bootstrap.servers": "memory:1",
        "kafka.isolation.level": world.level.value,
        "catalog.type": "memory",
        "failOnDataLoss": "false" if world.accepts_gaps else "true",
    }


def once(edges: Edges, world: World, asks: Asks) -> Iterator[Answer]:
    """A scan."""
    asks()
    yield read(FederatedTable(TABLE, options_of(world)).scan())


def twice(edges: Edges, world: World, asks: Asks) -> Iterator[Answer]:
    """The table twice in one statement."""
    asks()
    scan = FederatedTable(TABLE, options_of(world)).scan()
    yield read(scan)
    yield read(scan)


def again(edges: Edges, world: World, asks: Asks) -> Iterator[Answer]:
    """Two statements, one after the other."""
    yield from once(edges, world, asks)
    yield from once(edges, world, asks)


def by_token(edges: Edges, world: World, asks: Asks) -> Iterator[Answer]:
    """A cut is taken, and read by its token."""
    asks()
    table = FederatedTable(TABLE, options_of(world))
    token = table.cut().token()
    yield read(table.scan(cut=Cut.from_token(token)))


def read(scan: Scan) -> Answer:
    rows = tuple(scan.to_arrow().column(0).to_pylist())
    cut = scan.cut
    assert cut.topic_id is not None
    ends = {r.partition: r.end for r in cut.ranges}
    return Answer(rows, cut.snapshot_id, int(cut.topic_id[6:]) - 1, ends, cut.gaps, cut.lost)


def group_as_boundary(edges: Edges, world: World, asks: Asks) -> Iterator[Answer]:
    """The table, and the topic from where the writer's consumer group stands."""

    def resolve(*_: Any) -> CommittedOffsets:
        group = edges.run.step("asks where the writer's consumer group stands", lambda world: world.group)
        return _boundary(dict(enumerate(group)))

    yield from _with_boundary(resolve, edges, world, asks)


def maximum_as_boundary(edges: Edges, world: World, asks: Asks) -> Iterator[Answer]:
    """The table, and the topic from its largest offset on, whatever lies below."""

    def resolve(pinned: Any, *_: Any) -> CommittedOffsets:
        rows = [row for task in edges.plan_cold(pinned, split_bytes=1) for f in task.files for row in f.rows]
        return _boundary(_largest(rows))

    yield from _with_boundary(resolve, edges, world, asks)


def union_by_hand(edges: Edges, world: World, asks: Asks) -> Iterator[Answer]:
    """Spark's Kafka source from the table's largest offset on, and the Iceberg table, as one view.

    `startingOffsets` come from a query of the table, `endingOffsets` are `latest`, the isolation is the
    source's default, `failOnDataLoss` is true, and the table is loaded when the view is read.
    """
    asks()
    client, deadline = connect({"bootstrap.servers": "memory:1"}), Deadline.after_ms(60_000)
    before = pin(open_catalog("default", {"type": "memory"}), TABLE)
    largest = _largest(
        [r for task in edges.plan_cold(before, split_bytes=1) for f in task.files for r in f.rows]
    )
    there, loose = client.describe(TOPIC, deadline), Isolation.READ_UNCOMMITTED
    starts = client.list_offsets(TOPIC, there.partitions, EARLIEST, loose, deadline)
    ends = client.list_offsets(TOPIC, there.partitions, LATEST, loose, deadline)
    ranges = []
    for p in there.partitions:
        start, end = largest.get(p, starts[p][0]), ends[p][0]
        if not starts[p][0] <= start <= end:
            raise CutError("Spark: some data may have been lost")
        ranges.append(OffsetRange(p, start, end))
    now = pin(open_catalog("default", {"type": "memory"}), TABLE)
    cold = [
        row
        for task in edges.plan_cold(now, split_bytes=1)
        for batch in edges.read_cold(task, ("id",), {})
        for row in batch.column(0).to_pylist()
    ]
    hot = [
        int(value)
        for batch in drain(client, TOPIC, tuple(ranges), loose, Deadline.after_ms(60_000))
        for value in batch.column("value").to_pylist()
    ]
    topic = int(there.topic_id[6:]) - 1
    yield Answer((*cold, *hot), now.snapshot_id, topic, {r.partition: r.end for r in ranges})


def _with_boundary(resolve: Any, edges: Edges, world: World, asks: Asks) -> Iterator[Answer]:
    real, take.resolve_boundary = take.resolve_boundary, resolve
    try:
        yield from once(edges, world, asks)
    finally:
        take.resolve_boundary = real


def _boundary(next_offset: Mapping[int, int]) -> CommittedOffsets:
    return CommittedOffsets(None, None, next_offset, None, "declared", "a guess", Basis.ROWS)


def _largest(rows: list[int]) -> dict[int, int]:
    largest: dict[int, int] = {}
    for row in (row for row in rows if row < FOREIGN):
        partition, offset = divmod(row % 10_000, 1_000)
        largest[partition] = max(largest.get(partition, 0), offset + 1)
    return largest


OURS: Final[tuple[Way, ...]] = (once, twice, by_token, again)
COMPARATORS: Final[tuple[Way, ...]] = (group_as_boundary, maximum_as_boundary, union_by_hand)


def told_way(way: Way) -> str:
    return (way.__doc__ or way.__name__).splitlines()[0].rstrip(".")
