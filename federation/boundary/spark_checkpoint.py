"""The boundary of a table that Spark Structured Streaming fills.

Iceberg's native streaming sink writes the query's id and epoch into the
summary of each snapshot, and the query's checkpoint holds, per epoch, the
offsets at which that epoch ended. Together they are exact. The checkpoint
keeps about a hundred epochs, so an older snapshot cannot be resolved, and
`foreachBatch` leaves neither id nor epoch; both are errors here, for an empty
vector would read the whole topic again. File format: Spark's `OffsetSeqLog`, v1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pyarrow.fs as pafs

from coldset import PinnedTable, summary_value, walk_parents
from federation.boundary.committed import CommittedOffsets, Confidence, parse_next_offset
from federation.definition import TableDefinition
from federation.errors import BoundaryUnknownError
from hotset import KafkaClient

QUERY_ID: Final = "spark.sql.streaming.queryId"
EPOCH_ID: Final = "spark.sql.streaming.epochId"


def resolve_spark(pinned: PinnedTable, definition: TableDefinition, client: KafkaClient) -> CommittedOffsets:
    """Return the boundary recorded in the checkpoints of the queries that fill the table.

    Args:
        pinned: The loaded table and snapshot.
        definition: Settled options; `checkpoints` are the locations, one per query that writes to the table.
        client: Not needed.

    Raises:
        BoundaryUnknownError: A query has no checkpoint here, a checkpoint no
            longer has the epoch, or two queries disagree about a partition.
    """
    assert definition.topic is not None
    topic = definition.topic
    epochs = _epochs(pinned)
    locations = {_query_id(location): location for location in definition.checkpoints}
    next_offset: dict[int, int] = {}
    for query_id, epoch_id in epochs.items():
        if query_id not in locations:
            raise BoundaryUnknownError(
                f"table {pinned.identifier!r} is filled by Spark streaming query {query_id} (epoch "
                f"{epoch_id}), and "
                "none of the given checkpoints is its own; "
                "set checkpointLocation to the checkpoint folder of each query that writes to the table",
                table=pinned.identifier,
                query_id=query_id,
            )
        for partition, offset in _offsets(locations[query_id], epoch_id, topic).items():
            if next_offset.get(partition, offset) != offset:
                raise BoundaryUnknownError(
                    f"two Spark queries fill table {pinned.identifier!r} from partition {partition} of topic "
                    f"{topic!r}, up to {next_offset[partition]} and {offset}; let one of them write",
                    table=pinned.identifier,
                )
            next_offset[partition] = offset
    provenance = ", ".join(f"epoch {epoch} of Spark query {query}" for query, epoch in epochs.items())
    return CommittedOffsets(
        pinned.snapshot_id, None, next_offset, None, "spark", provenance, Confidence.EXACT
    )


def _epochs(pinned: PinnedTable) -> dict[str, int]:
    # Each query's own epochs rise, so the first one met on the way back is its newest.
    found: dict[str, int] = {}
    for snapshot in walk_parents(pinned.table, pinned.snapshot):
        query_id, epoch_id = summary_value(snapshot, QUERY_ID), summary_value(snapshot, EPOCH_ID)
        if query_id is not None and epoch_id is not None:
            found.setdefault(query_id, int(epoch_id))
    return found


def _query_id(location: str) -> str:
    lines = list(_lines(location, "metadata"))
    try:
        return str(json.loads(lines[0])["id"])
    except (ValueError, KeyError, IndexError, TypeError) as exc:
        raise BoundaryUnknownError(f"{location}/metadata is not the metadata of a Spark checkpoint") from exc


def _offsets(location: str, epoch_id: int, topic: str) -> dict[int, int]:
    version, _, *sources = _lines(location, f"offsets/{epoch_id}")
    if version != "v1":
        raise BoundaryUnknownError(
            f"{location}/offsets/{epoch_id} has version {version}, and only v1 is known"
        )
    vectors = [_partitions(line, topic) for line in sources]
    found = [vector for vector in vectors if vector is not None]
    if len(found) != 1:
        raise BoundaryUnknownError(
            f"{location}/offsets/{epoch_id} has {len(found)} sources that read topic {topic!r}, and "
            "there must be one"
        )
    return found[0]


def _partitions(line: str, topic: str) -> dict[int, int] | None:
    try:
        vector: Any = json.loads(line)
        return {int(p): parse_next_offset(offset) for p, offset in vector[topic].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # the line of another source, or of another topic


def _lines(location: str, name: str) -> Iterator[str]:
    try:
        filesystem, path = (
            pafs.FileSystem.from_uri(location) if "://" in location else (pafs.LocalFileSystem(), location)
        )
        with filesystem.open_input_stream(f"{path.rstrip('/')}/{name}") as stream:
            text = stream.read().decode()
    except (OSError, ValueError) as exc:
        raise BoundaryUnknownError(
            f"{name} cannot be read from Spark checkpoint {location}: {exc}; a checkpoint keeps about "
            "100 epochs, so "
            "read a newer snapshot, or correct checkpointLocation",
            location=location,
        ) from exc
    return iter(text.splitlines())
