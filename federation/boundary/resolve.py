"""Choose the resolver that knows a snapshot's boundary, and ask it.

`auto` goes by what the table shows: the nearest ancestor that any kind of
writer has left its mark on decides, since that writer made the newest commit.
If the resolver of that mark cannot tell, the table's own Kafka columns may; a
user may also name a resolver. What a resolver leaves open is held against rows and
log in any case. What is not known is an error that lists all that
was looked at; nothing is ever taken to mean that nothing is committed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from coldset.table import SOURCE_ID, Ancestry, PinnedTable, Snapshot, find_source, is_complete, summary_value
from federation.boundary.assumptions import Basis
from federation.boundary.boundary_cache import remember
from federation.boundary.columns import has_coordinates, resolve_columns
from federation.boundary.committed import CommittedOffsets
from federation.boundary.connect import CONNECT_OFFSETS_PREFIX, resolve_connect
from federation.boundary.evidence import settle
from federation.boundary.flink import FLINK_JOB_ID, resolve_flink
from federation.boundary.property import OFFSETS_PROPERTY, PIN_TAG, resolve_declared, resolve_summary
from federation.boundary.redpanda import REDPANDA_MARK, resolve_redpanda
from federation.boundary.spark import SPARK_QUERY_ID, resolve_spark
from federation.errors import BoundaryUnknownError, NotOneToOneError
from federation.options import TableDefinition
from foundation.deadline import Deadline
from hotset.decode import EpochUnit
from hotset.kafka import KafkaClient

Resolve = Callable[[PinnedTable, TableDefinition, KafkaClient, Deadline], CommittedOffsets]


@dataclass(frozen=True, slots=True)
class Resolver:
    """One way to know a boundary.

    Attributes:
        name: The value of option `boundary` that chooses it.
        writer: Whose tables it is for, in words.
        mark: How the summary property begins that this writer leaves in its
            snapshots; None if it leaves none.
        resolve: Finds the boundary of the pinned snapshot, which is not None.
        epoch_unit: What a number of JSON is to the writer in a column of timestamps, unless told otherwise.
    """

    name: str
    writer: str
    mark: str | None
    resolve: Resolve
    epoch_unit: EpochUnit = EpochUnit.MILLIS


RESOLVERS: Final = (
    Resolver("summary", "kafkaiceberg freeze", OFFSETS_PROPERTY, resolve_summary),
    Resolver("spark", "Spark streaming", SPARK_QUERY_ID, resolve_spark, EpochUnit.SECONDS),
    Resolver("connect", "Kafka Connect", CONNECT_OFFSETS_PREFIX, resolve_connect),
    Resolver("flink", "Flink", FLINK_JOB_ID, resolve_flink, EpochUnit.NONE),
    Resolver("redpanda", "Redpanda", REDPANDA_MARK, resolve_redpanda),
    Resolver("columns", "any writer that keeps Kafka columns", None, resolve_columns),
    Resolver("declared", "a writer you speak for", None, resolve_declared),
)
_BY_NAME: Final = {resolver.name: resolver for resolver in RESOLVERS}
_MARKS: Final = tuple(resolver.mark for resolver in RESOLVERS if resolver.mark is not None)


def resolve_boundary(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient, deadline: Deadline
) -> CommittedOffsets:
    """Return which records the pinned snapshot holds.

    Args:
        pinned: The loaded table and snapshot.
        definition: The table's settled options.
        client: The cluster, for resolvers that must look into the log.
        deadline: When to give up; the whole of planning has one.

    Raises:
        BoundaryUnknownError: Nothing tells.
        OptionError: The chosen resolver lacks an option it needs.
    """
    if pinned.snapshot is None:
        # A table that has no snapshot at all holds nothing, which is known for sure.
        return CommittedOffsets(None, None, {}, None, "summary", "a table without snapshots", Basis.RECORD)
    return remember(pinned, definition, partial(_resolve, pinned, definition, client, deadline))


def epoch_unit_of(committed: CommittedOffsets | None, definition: TableDefinition) -> EpochUnit:
    """Return what a number of JSON is to a table's writer in a column of timestamps."""
    name = definition.boundary
    if name == "auto" and committed is not None:
        name = committed.resolver
    return _BY_NAME[name].epoch_unit if name in _BY_NAME else EpochUnit.MILLIS


def _resolve(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient, deadline: Deadline
) -> CommittedOffsets:
    if definition.boundary != "auto":
        resolver = _BY_NAME[definition.boundary]
        _require_one_writer(pinned, resolver)
        found = resolver.resolve(pinned, definition, client, deadline)
        found = replace(found, looked=(f"option boundary={definition.boundary}", *found.looked))
    else:
        found = _resolve_by_marks(pinned, definition, client, deadline)
    return settle(found, _BY_NAME[found.resolver].mark, pinned, definition, client, deadline)


def recognise(pinned: PinnedTable) -> tuple[Resolver | None, tuple[str, ...]]:
    """Return the resolver of the nearest mark among the snapshot's ancestors, and what was looked at.

    Raises:
        BoundaryUnknownError: A commit before it is a copy of one that no resolver can follow.
    """
    assert pinned.snapshot is not None
    ancestry = Ancestry(pinned.table, pinned.snapshot)
    walked = 0
    for snapshot in ancestry:
        walked += 1
        marked = next(iter(marks_of(snapshot)), None)
        if marked is None and summary_value(snapshot, SOURCE_ID) is None:
            continue
        where = f"snapshot {snapshot.snapshot_id}, {_steps(walked - 1)}"
        if marked is not None:
            is_left = walked <= len(ancestry.survivors)
            expired = "" if is_left else ", which is expired and of which an older metadata file tells"
            return marked, (f"{where}: {marked.mark}* ({marked.writer}){expired}",)
        # A cherry-picked copy has no properties of its source, and only one resolver follows them.
        source = find_source(pinned.table, snapshot)
        marked = None if source is None else next(iter(marks_of(source)), None)
        if marked is _BY_NAME["summary"]:
            return marked, (f"{where}: a cherry-picked copy of a commit with {marked.mark}",)
        if source is None or marked is not None:
            whose = "has been expired" if marked is None else f"is of {marked.writer}"
            raise BoundaryUnknownError(
                f"nothing says which records snapshot {pinned.snapshot_id} of table {pinned.identifier!r} "
                f"holds: {where}, is a cherry-picked copy of a commit that {whose}, and Iceberg copies no "
                "marks",
                table=pinned.identifier,
                snapshot_id=pinned.snapshot_id,
            )
    if ancestry.is_cut and PIN_TAG in pinned.table.refs():
        return _BY_NAME["summary"], (f"tag {PIN_TAG}, since older ancestors have been expired",)
    end = "and older ancestors have been expired" if ancestry.is_cut else "and that is all of them"
    marks = ", ".join(f"{r.mark}* ({r.writer})" for r in RESOLVERS if r.mark is not None)
    return None, (f"summaries of {walked} snapshots, by parents, {end}: none has {marks}",)


def marks_of(snapshot: Snapshot) -> tuple[Resolver, ...]:
    """Return the resolvers whose writers have left their mark on a snapshot, in the order of `RESOLVERS`."""
    # Thousands of snapshots may be asked, and most have no mark.
    keys = () if snapshot.summary is None else snapshot.summary.additional_properties
    marks = [key for key in keys if key.startswith(_MARKS)]
    return tuple(
        resolver
        for resolver in (RESOLVERS if marks else ())
        if resolver.mark is not None and any(key.startswith(resolver.mark) for key in marks)
    )


def _require_one_writer(pinned: PinnedTable, resolver: Resolver) -> None:
    """Each writer's record tells of its own commits only, but for our property, which tells of all before."""
    if resolver.mark is None:
        return
    assert pinned.snapshot is not None
    for snapshot in Ancestry(pinned.table, pinned.snapshot):
        marked = marks_of(snapshot)
        if resolver not in marked and marked:
            raise BoundaryUnknownError(
                f"table {pinned.identifier!r} has commits of {resolver.writer} and of {marked[0].writer} "
                f"(snapshot {snapshot.snapshot_id}), and what the one records does not tell what the other "
                "has committed; name the table's Kafka columns, or declare the boundary (committedOffsets)",
                table=pinned.identifier,
                snapshot_id=pinned.snapshot_id,
            )
        if resolver in marked and resolver.mark == OFFSETS_PROPERTY:
            return


def _resolve_by_marks(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient, deadline: Deadline
) -> CommittedOffsets:
    if definition.declared_offsets is not None:
        found = resolve_declared(pinned, definition, client, deadline)
        return replace(found, looked=("option committedOffsets, which goes before all else",))
    tried: BoundaryUnknownError | None = None
    try:
        marked, looked = recognise(pinned)
    except BoundaryUnknownError as exc:
        marked, looked, tried = None, (str(exc),), exc
    columns = _BY_NAME["columns"] if has_coordinates(pinned.arrow_schema, definition) else None
    for resolver in (marked, columns):
        if resolver is None:
            continue
        try:
            _require_one_writer(pinned, resolver)
            found = resolver.resolve(pinned, definition, client, deadline)
        except NotOneToOneError:
            raise  # what Kafka has beyond the rows may be none of this table's, which no row can tell
        except BoundaryUnknownError as exc:
            tried = tried or exc
            looked = (*looked, f"{resolver.name}: {exc}")
        else:
            return replace(found, looked=(*looked, *found.looked))
    if columns is None:
        looked = (*looked, "Kafka columns: none by a known name, and option kafkaColumns names none")
    # What may be known a moment later is an error of that kind.
    unknown = _unmarked(pinned) if tried is None else tried
    unknown.details.update(looked=looked)
    raise unknown


def _unmarked(pinned: PinnedTable) -> BoundaryUnknownError:
    name = pinned.identifier
    left = "" if is_complete(pinned.table, pinned.snapshot) else " in what expiry has kept of its history"
    return BoundaryUnknownError(
        f"nothing says which records snapshot {pinned.snapshot_id} of table {name!r} holds: its writer has "
        f"left no mark{left}, and no column tells. `kafkaiceberg cut {name} --explain` lists what was looked "
        f"at. If nothing else writes to it, say once what it holds: kafkaiceberg adopt {name}",
        table=name,
        snapshot_id=pinned.snapshot_id,
    )


def _steps(count: int) -> str:
    return "the one that is read" if count == 0 else f"{count} back by parents"
