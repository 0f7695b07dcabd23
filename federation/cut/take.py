"""Take the facts of a cut, in the only order that is right.

Pin the snapshot; find the boundary *of that snapshot*; then ask Kafka for end
offsets, log starts and identity, and a registry for the latest schema. In any other
order a commit that lands in between makes records appear twice or not at all. The decision itself is
`compute_cut`; this file only does the I/O and plans again if retention and a
commit raced with it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from coldset.errors import TableNotFoundError
from coldset.table import PinnedTable, open_catalog, pin, pin_absent
from federation.boundary import CommittedOffsets, begin_again, begin_at_log_start, resolve_boundary
from federation.cut.cut import Cut, SnapshotFacts, cold_cut, compute_cut, require_readable
from federation.cut.reader_schema import pin_latest, resume_latest
from federation.errors import (
    BoundaryUnknownError,
    CutError,
    CutTokenError,
    OffsetGapError,
    TableReplacedError,
)
from federation.options import OPTIONS, TableDefinition, define, resolve
from foundation.deadline import Deadline
from hotset.errors import TopicNotFoundError
from hotset.kafka import KafkaClient, LogBounds, connect, read_log_bounds, require_history

_PLANS: Final = 3
_PAUSE_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class TakenCut:
    """A cut with what it was taken from; everything after is a function of it.

    Attributes:
        definition: The table's settled options.
        pinned: The loaded table and snapshot.
        cut: The cut.
        bounds: What the log held; None for a plain table.
        committed: What the boundary was found to be; None if there was nothing to find.
        as_of_ms: When the ends were asked for (epoch milliseconds, UTC).
        plan_ms: Milliseconds it took.
        offsets_ms: Those of them that Kafka was asked for the log's ends and beginnings.
    """

    definition: TableDefinition
    pinned: PinnedTable
    cut: Cut
    bounds: LogBounds | None
    committed: CommittedOffsets | None
    as_of_ms: int
    plan_ms: float
    offsets_ms: float = 0.0

    def held_back(self, partition: int) -> int:
        """Return how many offsets of a partition an open transaction hides."""
        bounds = () if self.bounds is None else self.bounds.partitions
        return sum(found.held_back for found in bounds if found.partition == partition)


def take_cut(options: Mapping[str, str], *, within_ms: int | None = None) -> TakenCut:
    """Take the cut of a table now, or take up the one the options name.

    Args:
        options: From `merge_options`.
        within_ms: Milliseconds it may take, if that is less than `planTimeoutMs`.

    Raises:
        OptionError: Options are missing or contradict.
        CutError: No exact cut exists; see its subclasses.
        CutTokenError: Option `cut` is malformed or of another table.
        HotsetError, ColdsetError: Kafka or the catalog could not be asked.
    """
    if "cut" in options:
        return resume_cut(options, Cut.from_token(options["cut"]), within_ms=within_ms)
    began_s = time.monotonic()
    pinned, definition = pin_table(options)
    deadline = _deadline(definition, within_ms)
    doubt: CutError | None = None
    for attempt in range(_PLANS):
        if attempt:
            time.sleep(_PAUSE_S * attempt)
        taken = None
        try:
            taken = _take(pinned, definition, deadline, began_s)
            if not taken.cut.gaps:
                return taken
        except (BoundaryUnknownError, OffsetGapError) as exc:
            doubt = exc
        # A commit may have brought the records into the table while retention removed them
        # from the log, or while their writer was asked; only a table that has not moved is sure.
        seen = pinned.snapshot_id
        pinned, definition = pin_table(options)
        if pinned.snapshot_id == seen:
            if taken is not None:
                return taken
            if isinstance(doubt, BoundaryUnknownError):
                raise doubt
    raise doubt or OffsetGapError(
        f"commits to table {definition.name!r} and retention of topic {definition.topic!r} overtook "
        f"{_PLANS} plans; ask again",
        table=definition.name,
        topic=definition.topic,
    )


def resume_cut(options: Mapping[str, str], cut: Cut, *, within_ms: int | None = None) -> TakenCut:
    """Take up a cut that was taken before, if it can still be read exactly.

    A token may come from anyone, so it is believed in nothing: it must be of this
    table and its topic, and its ranges must begin where the snapshot ends.

    Raises:
        CutTokenError: The cut is not one of this table as it is configured.
        TableReplacedError: The table was dropped and created again.
        SnapshotNotFoundError: The snapshot has been expired.
        CutError: Kafka no longer holds the ranges; see its subclasses.
    """
    began_s = time.monotonic()
    if cut.table != options["path"]:
        raise CutTokenError(f"the cut is of table {cut.table!r}, not of {options['path']!r}")
    unpinned = {key: value for key, value in options.items() if key not in ("branch", "tag", "snapshot-id")}
    chosen = {} if cut.snapshot_id is None else {"snapshot-id": str(cut.snapshot_id)}
    pinned, definition = pin_table({**unpinned, **chosen})
    if pinned.uuid != cut.table_uuid:
        raise TableReplacedError(
            f"table {cut.table!r} was dropped and created again since the cut was taken; take a new cut",
            table=cut.table,
        )
    if (cut.topic, cut.isolation) != (definition.topic, definition.isolation):
        raise CutTokenError(f"the cut is not of table {cut.table!r} as it is configured now; take a new cut")
    pinned = _with_cut(pinned, cut)
    if cut.topic is None:
        return TakenCut(definition, pinned, cut, None, None, _now_ms(), _since_ms(began_s))
    client = connect(resolve(definition.kafka_properties))
    deadline = _deadline(definition, within_ms)
    if definition.hot_schema is None:
        committed, bounds, offsets_ms = _facts(pinned, definition, client, deadline)
    else:
        committed, asked_s = begin_again(cut.ranges), time.monotonic()
        bounds = read_log_bounds(client, cut.topic, cut.isolation, deadline)
        offsets_ms = _since_ms(asked_s)
    _require_same_boundary(cut, committed, definition)
    definition = resume_latest(cut, definition, deadline)
    require_readable(cut, bounds)
    require_history(client, bounds, _places(committed), deadline)
    return TakenCut(definition, pinned, cut, bounds, committed, _now_ms(), _since_ms(began_s), offsets_ms)


def pin_table(options: Mapping[str, str]) -> tuple[PinnedTable, TableDefinition]:
    """Load the table once, pin the snapshot the options ask for, and settle the options.

    Raises:
        OptionError: Options are missing or contradict.
        ColdsetError: There is no such table or snapshot, or the catalog could not be asked.
    """
    if OPTIONS.value_of(options, "read") == "hot":
        definition = define(options, {})
        assert definition.hot_schema is not None
        return pin_absent(definition.name, definition.hot_schema), definition
    # The catalog has to be known before the table's own properties can be.
    catalog = open_catalog(
        OPTIONS.text_of(options, "catalog.name"), resolve(OPTIONS.under(options, "catalog."))
    )
    snapshot_id, ref = options.get("snapshot-id"), options.get("branch") or options.get("tag")
    try:
        pinned = pin(catalog, options["path"], snapshot_id=int(snapshot_id) if snapshot_id else None, ref=ref)
    except TableNotFoundError as exc:
        raise TableNotFoundError(
            f"{exc}; a topic that has no table yet is read alone with read=hot and option 'schema'",
            table=options["path"],
        ) from exc
    return pinned, define(options, pinned.properties)


def _with_cut(pinned: PinnedTable, cut: Cut) -> PinnedTable:
    schema = pinned.table.schemas().get(cut.schema_id)
    if schema is None:
        raise CutTokenError(f"the cut names schema {cut.schema_id}, which table {cut.table!r} does not have")
    snapshot = None if cut.snapshot_id is None else pinned.snapshot
    return PinnedTable(pinned.identifier, pinned.table, snapshot, schema)


def _require_same_boundary(cut: Cut, committed: CommittedOffsets, definition: TableDefinition) -> None:
    same = all(committed.of(r.partition) == cut.committed(r.partition) for r in cut.ranges)
    if (
        not same
        or cut.lost != committed.lost
        or set(committed.next_offset) - {r.partition for r in cut.ranges}
    ):
        raise CutTokenError(
            f"the ranges of the cut do not begin where snapshot {cut.snapshot_id} of table "
            f"{cut.table!r} ends; "
            "take a token from a receipt"
        )
    if cut.gaps and not definition.accepts_gaps:
        raise CutTokenError("the cut has gaps, which are accepted only with failOnDataLoss=false")


def _take(pinned: PinnedTable, definition: TableDefinition, deadline: Deadline, began_s: float) -> TakenCut:
    facts = SnapshotFacts(definition.name, pinned.uuid, pinned.snapshot_id, pinned.schema_id)
    if definition.topic is None:
        cut = cold_cut(facts, definition.isolation)
        return TakenCut(definition, pinned, cut, None, None, _now_ms(), _since_ms(began_s))
    client = connect(resolve(definition.kafka_properties))
    committed, bounds, offsets_ms = _facts(pinned, definition, client, deadline)
    cut = compute_cut(facts, committed, bounds, accepts_gaps=definition.accepts_gaps)
    require_history(client, bounds, _places(committed), deadline)
    cut, definition = pin_latest(cut, definition, deadline)
    as_of_ms, plan_ms = bounds.read_at_ms, _since_ms(began_s)
    return TakenCut(definition, pinned, cut, bounds, committed, as_of_ms, plan_ms, offsets_ms)


def _facts(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient, deadline: Deadline
) -> tuple[CommittedOffsets, LogBounds, float]:
    """Return where the boundary is, what the log holds, and the milliseconds that took to ask."""
    assert definition.topic is not None
    try:
        committed: CommittedOffsets | None = None
        if definition.hot_schema is None:
            # The boundary first: what is committed from here on lies in the ranges.
            committed = resolve_boundary(pinned, definition, client, deadline)
        asked_s = time.monotonic()
        bounds = read_log_bounds(client, definition.topic, definition.isolation, deadline)
        offsets_ms = _since_ms(asked_s)
        return begin_at_log_start(bounds) if committed is None else committed, bounds, offsets_ms
    except TopicNotFoundError as exc:
        if definition.hot_schema is not None:
            raise
        raise TopicNotFoundError(
            f"{exc}; if topic {definition.topic!r} is gone for good, read table {definition.name!r} alone "
            "with read=cold",
            topic=definition.topic,
        ) from exc


def _places(committed: CommittedOffsets) -> dict[int, tuple[int, int]]:
    return {p: (committed.of(p), epoch) for p, epoch in committed.leader_epoch.items()}


def _deadline(definition: TableDefinition, within_ms: int | None) -> Deadline:
    plan_ms = definition.plan_timeout_ms
    return Deadline.after_ms(plan_ms if within_ms is None else max(1, min(plan_ms, within_ms)))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _since_ms(began_s: float) -> float:
    return (time.monotonic() - began_s) * 1000
