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
from typing import Final, NamedTuple

from coldset.table import PinnedTable
from federation.boundary import (
    Assumption,
    CommittedOffsets,
    begin_again,
    begin_at_log_start,
    isolation_of,
    resolve_boundary,
)
from federation.cut.as_of import OPTION as AS_OF
from federation.cut.as_of import bounds_then, not_kept
from federation.cut.cut import Cut, SnapshotFacts, cold_cut, compute_cut, require_readable
from federation.cut.pinning import pin_table
from federation.cut.reader_schema import pin_latest, resume_latest
from federation.cut.taken_cut import Doubt, TakenCut
from federation.cut.token_checks import not_as_configured, pin_as_cut, require_same_boundary
from federation.errors import (
    BoundaryUnknownError,
    CutError,
    CutTokenError,
    OffsetGapError,
    TableReplacedError,
)
from federation.merge import require_appends
from federation.options import TableDefinition, resolve
from foundation.deadline import Deadline
from hotset.errors import TopicNotFoundError
from hotset.kafka import Isolation, KafkaClient, LogBounds, connect, read_log_bounds, require_history

_PLANS: Final = 3
_PAUSE_S: Final = 0.1


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
    pins = ("branch", "tag", "snapshot-id", AS_OF)
    unpinned = {key: value for key, value in options.items() if key not in pins}
    chosen = {} if cut.snapshot_id is None else {"snapshot-id": str(cut.snapshot_id)}
    pinned, definition = pin_table({**unpinned, **chosen})
    if pinned.uuid != cut.table_uuid:
        raise TableReplacedError(
            f"table {cut.table!r} was dropped and created again since the cut was taken; take a new cut",
            table=cut.table,
        )
    if cut.topic != definition.topic:
        raise not_as_configured(cut)
    pinned = pin_as_cut(pinned, cut)
    if cut.topic is None:
        return TakenCut(definition, pinned, cut, None, None, _now_ms(), _since_ms(began_s))
    more_assumed = _require_appends(pinned, definition)
    client = connect(resolve(definition.kafka_properties))
    deadline = _deadline(definition, within_ms)
    if definition.hot_schema is None:
        facts = _take_facts(pinned, definition, client, deadline, cut.isolation)
    else:
        committed, asked_s = begin_again(cut.ranges), time.monotonic()
        bounds = read_log_bounds(client, cut.topic, cut.isolation, deadline)
        facts = _Facts(committed, bounds, definition.isolation, Doubt.NONE, _since_ms(asked_s))
    # Whose isolation only its writer's default tells was read so as the cut says.
    if facts.doubt is Doubt.NONE and cut.isolation is not facts.isolation:
        raise not_as_configured(cut)
    require_same_boundary(cut, facts.committed, definition)
    definition = resume_latest(cut, definition, deadline)
    require_readable(cut, facts.bounds)
    require_history(client, facts.bounds, _places(facts.committed), deadline)
    return _taken(definition, pinned, cut, facts, _now_ms(), began_s, more_assumed)


def _take(pinned: PinnedTable, definition: TableDefinition, deadline: Deadline, began_s: float) -> TakenCut:
    facts = SnapshotFacts(definition.name, pinned.uuid, pinned.snapshot_id, pinned.schema_id)
    if definition.topic is None:
        cut = cold_cut(facts, definition.isolation)
        as_of_ms = _now_ms() if definition.as_of_ms is None else definition.as_of_ms
        return TakenCut(definition, pinned, cut, None, None, as_of_ms, _since_ms(began_s))
    more_assumed = _require_appends(pinned, definition)
    client = connect(resolve(definition.kafka_properties))
    found = _take_facts(pinned, definition, client, deadline)
    require_history(client, found.bounds, _places(found.committed), deadline)
    as_of_ms = found.bounds.read_at_ms
    if definition.as_of_ms is not None:
        as_of_ms = definition.as_of_ms
        bounds, assumed = bounds_then(client, found.bounds, found.committed, as_of_ms, deadline)
        found, more_assumed = found._replace(bounds=bounds), (*more_assumed, *assumed)
    cut = _computed(facts, found, definition)
    cut, definition = pin_latest(cut, definition, deadline)
    return _taken(definition, pinned, cut, found, as_of_ms, began_s, more_assumed)


def _computed(facts: SnapshotFacts, found: _Facts, definition: TableDefinition) -> Cut:
    try:
        return compute_cut(facts, found.committed, found.bounds, accepts_gaps=definition.accepts_gaps)
    except OffsetGapError as exc:
        if definition.as_of_ms is None:
            raise
        raise not_kept(exc, facts, definition.as_of_ms) from exc


class _Facts(NamedTuple):
    """Where the boundary is, what the log holds, and how it is to be read.

    `isolation` is what the options and the writer tell; `offsets_ms` milliseconds of asking for the log.
    """

    committed: CommittedOffsets
    bounds: LogBounds
    isolation: Isolation
    doubt: Doubt
    offsets_ms: float


def _taken(
    definition: TableDefinition,
    pinned: PinnedTable,
    cut: Cut,
    facts: _Facts,
    as_of_ms: int,
    began_s: float,
    more_assumed: tuple[Assumption, ...],
) -> TakenCut:
    return TakenCut(
        definition,
        pinned,
        cut,
        facts.bounds,
        facts.committed,
        as_of_ms,
        _since_ms(began_s),
        facts.offsets_ms,
        more_assumed,
        facts.doubt,
    )


def _require_appends(pinned: PinnedTable, definition: TableDefinition) -> tuple[Assumption, ...]:
    return () if definition.hot_schema is not None else require_appends(pinned, definition)


def _take_facts(
    pinned: PinnedTable,
    definition: TableDefinition,
    client: KafkaClient,
    deadline: Deadline,
    asked: Isolation | None = None,
) -> _Facts:
    """Find the boundary, and then ask what the log holds; with an isolation that is `asked` for, if any."""
    assert definition.topic is not None
    try:
        committed: CommittedOffsets | None = None
        if definition.hot_schema is None:
            # The boundary first: what is committed from here on lies in the ranges.
            committed = resolve_boundary(pinned, definition, client, deadline)
        told, is_default = isolation_of(committed, definition)
        isolation = asked or told
        asked_s = time.monotonic()
        # Who is in doubt asks where transactions are open, too.
        level = Isolation.READ_COMMITTED if is_default else isolation
        bounds = read_log_bounds(client, definition.topic, level, deadline)
        offsets_ms = _since_ms(asked_s)
    except TopicNotFoundError as exc:
        if definition.hot_schema is not None:
            raise
        raise TopicNotFoundError(
            f"{exc}; if topic {definition.topic!r} is gone for good, read table {definition.name!r} alone "
            "with read=cold",
            topic=definition.topic,
        ) from exc
    doubt = Doubt.UNTOLD if is_default else Doubt.NONE
    if is_default and any(found.held_back for found in bounds.partitions):
        doubt = Doubt.OPEN_TRANSACTION
    if isolation is not bounds.isolation:
        bounds = bounds.uncommitted()
    committed = begin_at_log_start(bounds) if committed is None else committed
    return _Facts(committed, bounds, told, doubt, offsets_ms)


def _places(committed: CommittedOffsets) -> dict[int, tuple[int, int]]:
    return {p: (committed.of(p), epoch) for p, epoch in committed.leader_epoch.items()}


def _deadline(definition: TableDefinition, within_ms: int | None) -> Deadline:
    plan_ms = definition.plan_timeout_ms
    return Deadline.after_ms(plan_ms if within_ms is None else max(1, min(plan_ms, within_ms)))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _since_ms(began_s: float) -> float:
    return (time.monotonic() - began_s) * 1000
