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
from collections.abc import Mapping
from typing import Any, Final

import pyarrow.fs as pafs

from coldset import Ancestry, PinnedTable, summary_value
from federation.boundary.committed import CommittedOffsets, Confidence, parse_next_offset
from federation.boundary.partitions import require_every_partition
from federation.definition import TableDefinition
from federation.errors import BoundaryUnknownError
from hotset import KafkaClient

QUERY_ID: Final = "spark.sql.streaming.queryId"
EPOCH_ID: Final = "spark.sql.streaming.epochId"
_INITIAL: Final = "sources/0/0"


def resolve_spark(pinned: PinnedTable, definition: TableDefinition, client: KafkaClient) -> CommittedOffsets:
    """Return the boundary recorded in the checkpoints of the queries that fill the table.

    Args:
        pinned: The loaded table and snapshot.
        definition: Settled options; `checkpoints` are the locations, one per query that writes to the table.
        client: The cluster, asked only if a part of the table's history is gone.

    Raises:
        BoundaryUnknownError: A query has no checkpoint here, a checkpoint no
            longer has the epoch, a query reads more than the topic, or two
            queries have read a partition and not one where the other ended.
    """
    assert definition.topic is not None
    topic = definition.topic
    assert pinned.snapshot is not None
    ancestry = Ancestry(pinned.table, pinned.snapshot)
    epochs = _epochs(ancestry)
    if not epochs:
        raise BoundaryUnknownError(
            f"no snapshot that snapshot {pinned.snapshot_id} of table {pinned.identifier!r} is built on has "
            f"{QUERY_ID} in its summary; Spark's foreachBatch leaves no such mark",
            table=pinned.identifier,
            snapshot_id=pinned.snapshot_id,
        )
    locations = {_query_id(location): location for location in definition.checkpoints}
    next_offset: dict[int, int] = {}
    looked = []
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
        location = locations[query_id]
        read = _offsets(location, f"offsets/{epoch_id}", topic)
        if shared := sorted(set(read) & set(next_offset)):
            _require_succession(pinned, shared, next_offset, location, topic)
        next_offset |= read
        looked.append(f"offsets/{epoch_id} of checkpoint {location} (Spark query {query_id})")
    require_every_partition(pinned, ancestry, definition, client, next_offset)
    provenance = ", ".join(f"epoch {epoch} of Spark query {query}" for query, epoch in epochs.items())
    return CommittedOffsets(
        pinned.snapshot_id,
        None,
        next_offset,
        None,
        "spark",
        provenance,
        Confidence.EXACT,
        looked=tuple(looked),
    )


def _epochs(ancestry: Ancestry) -> dict[str, int]:
    """Return each query's newest epoch, the query that came first coming first."""
    # Each query's own epochs rise, so the first one met on the way back is its newest.
    newest: dict[str, int] = {}
    order: list[str] = []
    for snapshot in ancestry:
        query_id, epoch_id = summary_value(snapshot, QUERY_ID), summary_value(snapshot, EPOCH_ID)
        if query_id is not None and epoch_id is not None:
            newest.setdefault(query_id, int(epoch_id))
            order = [query_id, *(known for known in order if known != query_id)]
    return {query_id: newest[query_id] for query_id in order}


def _require_succession(
    pinned: PinnedTable, shared: list[int], ended: Mapping[int, int], location: str, topic: str
) -> None:
    """A query may take over from another, if it began where the other had ended."""
    began = _offsets(location, _INITIAL, topic)
    for partition in shared:
        start = began.get(partition, 0)
        if start != ended[partition]:
            how = "twice" if start < ended[partition] else "not at all"
            first, last = sorted((start, ended[partition]))
            raise BoundaryUnknownError(
                f"two Spark queries have written partition {partition} of topic {topic!r} to table "
                f"{pinned.identifier!r}: the one with checkpoint {location} began at {start}, and the one "
                f"before had ended at {ended[partition]}, so offsets {first} to {last} are in the table "
                f"{how}; let a new query begin with startingOffsets where the old one ended",
                table=pinned.identifier,
                partition=partition,
            )


def _query_id(location: str) -> str:
    lines = _lines(location, "metadata")
    try:
        return str(json.loads(lines[0])["id"])
    except (ValueError, KeyError, IndexError, TypeError) as exc:
        raise BoundaryUnknownError(f"{location}/metadata is not the metadata of a Spark checkpoint") from exc


def _offsets(location: str, name: str, topic: str) -> dict[int, int]:
    """Return the offsets of the query's only source, which must read the topic and no other."""
    version, *lines = _lines(location, name) or [""]
    # A source's first offsets are in a file like an epoch's, after a zero byte and without settings.
    if version.lstrip("\0") != "v1":
        raise BoundaryUnknownError(f"{location}/{name} has version {version}, and only v1 is known")
    sources = lines if name == _INITIAL else lines[1:]
    try:
        vectors: list[dict[str, Any]] = [json.loads(line) for line in sources]
        if [set(vector) for vector in vectors] == [{topic}]:
            return {int(p): parse_next_offset(offset) for p, offset in vectors[0][topic].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        pass  # some other source
    raise BoundaryUnknownError(
        f"the Spark query with checkpoint {location} reads more than topic {topic!r}, or another source "
        f"({', '.join(sources)[:200]} in {name}): the hot half of one topic would lack the others' records; "
        "give each topic a query and a table of its own",
        location=location,
    )


def _lines(location: str, name: str) -> list[str]:
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
    return str(text).splitlines()
