"""Choose the resolver that knows a snapshot's boundary, and ask it.

`auto` goes by what the table shows: the nearest ancestor that any kind of
writer has left its mark on decides, since that writer made the newest commit.
A user may name a resolver instead. What is not known is an error that lists
what was looked for; nothing is ever taken to mean that nothing is committed.
"""

from __future__ import annotations

from coldset import PinnedTable, is_complete, summary_value, walk_parents
from federation.boundary.columns import resolve_columns
from federation.boundary.committed import CommittedOffsets, Confidence
from federation.boundary.connect import PREFIX, resolve_connect
from federation.boundary.declared import resolve_declared
from federation.boundary.spark_checkpoint import QUERY_ID, resolve_spark
from federation.boundary.summary import PROPERTY, resolve_summary
from federation.definition import TableDefinition
from federation.errors import BoundaryUnknownError, OptionError
from hotset import KafkaClient


def resolve_boundary(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient
) -> CommittedOffsets:
    """Return which records the pinned snapshot holds.

    Args:
        pinned: The loaded table and snapshot.
        definition: The table's settled options.
        client: The cluster, for resolvers that must look into the log.

    Raises:
        BoundaryUnknownError: Nothing tells.
        OptionError: The chosen resolver lacks an option it needs.
    """
    if pinned.snapshot is None:
        # A table that has no snapshot at all holds nothing, which is known for sure.
        return CommittedOffsets(
            None, None, {}, None, "summary", "a table without snapshots", Confidence.EXACT
        )
    chosen = definition.boundary if definition.boundary != "auto" else recognise(pinned, definition)
    if chosen == "declared":
        if definition.declared_offsets is None:
            raise OptionError("boundary=declared needs option 'committedOffsets'", option="committedOffsets")
        return resolve_declared(pinned, definition.declared_offsets)
    if chosen == "connect":
        return resolve_connect(pinned, definition, client)
    if chosen == "columns":
        return resolve_columns(pinned, definition, client)
    if chosen == "spark":
        return resolve_spark(pinned, definition.topic or "", definition.checkpoints)
    return resolve_summary(pinned)


def recognise(pinned: PinnedTable, definition: TableDefinition) -> str:
    """Return the name of the resolver that the table itself points to.

    Raises:
        BoundaryUnknownError: No ancestor of the snapshot has a mark of any known writer.
    """
    if definition.declared_offsets is not None:
        return "declared"
    looked = 0
    for snapshot in walk_parents(pinned.table, pinned.snapshot):
        looked += 1
        if summary_value(snapshot, PROPERTY) is not None:
            return "summary"
        if summary_value(snapshot, QUERY_ID) is not None:
            return "spark"
        if snapshot.summary and any(key.startswith(PREFIX) for key in snapshot.summary.additional_properties):
            return "connect"
    if {"partition", "offset"} <= set(definition.kafka_columns):
        return "columns"
    cause = (
        "no ancestor has it"
        if is_complete(pinned.table, pinned.snapshot)
        else "older ancestors have been expired"
    )
    raise BoundaryUnknownError(
        f"nothing says which records snapshot {pinned.snapshot_id} of table {pinned.identifier!r} "
        "holds: looked for "
        f"property {PROPERTY} (kafkaiceberg freeze), {PREFIX}* (Kafka Connect) and {QUERY_ID} (Spark "
        "streaming) in the summaries "
        f"of {looked} "
        f"snapshots, by parents, and {cause}, and for option kafkaColumns; fill the table with such a "
        "writer, name its "
        "Kafka columns, or declare the boundary with committedOffsets",
        table=pinned.identifier,
        snapshot_id=pinned.snapshot_id,
    )
