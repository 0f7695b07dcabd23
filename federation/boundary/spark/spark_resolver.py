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
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import pyarrow.fs as pafs

from coldset.table import SOURCE_ID, Ancestry, PinnedTable, find_source, summary_value
from federation.boundary.assumptions import Basis
from federation.boundary.committed import CommittedOffsets, parse_next_offset
from federation.boundary.first_offsets import require_beginning
from federation.boundary.named_partitions import require_every_partition
from federation.errors import BoundaryUnknownError, NotOneToOneError
from federation.options import TableDefinition
from foundation.deadline import Deadline
from hotset.kafka import KafkaClient

SPARK_QUERY_ID: Final = "spark.sql.streaming.queryId"
SPARK_EPOCH_ID: Final = "spark.sql.streaming.epochId"
_INITIAL: Final = "sources/0/0"


def resolve_spark(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient, deadline: Deadline
) -> CommittedOffsets:
    """Return the boundary recorded in the checkpoints of the queries that fill the table.

    Args:
        pinned: The loaded table and snapshot.
        definition: Settled options; `checkpoints` are the locations, one per query that writes to the table.
        client: The cluster, asked only if a part of the table's history is gone, or a query
            began above offset 0.
        deadline: When to give up.

    Raises:
        BoundaryUnknownError: A query has no checkpoint here, a checkpoint no
            longer has the epoch, an epoch before it is not in the table, the first
            query began after records that the topic still has, or two queries have
            read a partition and not one where the other ended.
        NotOneToOneError: A query reads more than the topic.
        HotsetError: The topic could not be asked.
    """
    assert definition.topic is not None
    topic = definition.topic
    assert pinned.snapshot is not None
    ancestry = Ancestry(pinned.table, pinned.snapshot)
    epochs = _epochs(pinned, ancestry)
    if not epochs:
        raise BoundaryUnknownError(
            f"no snapshot that snapshot {pinned.snapshot_id} of table {pinned.identifier!r} is built on has "
            f"{SPARK_QUERY_ID} in its summary; Spark's foreachBatch leaves no such mark",
            table=pinned.identifier,
            snapshot_id=pinned.snapshot_id,
        )
    locations = {_query_id(location): location for location in definition.checkpoints}
    next_offset: dict[int, int] = {}
    began: dict[int, int] = {}
    looked = []
    for query_id, (epoch_id, *_) in epochs.items():
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
        _require_every_epoch(pinned, epochs[query_id], location, topic, is_complete=not ancestry.is_cut)
        if shared := sorted(set(read) & set(next_offset)):
            _require_succession(pinned, shared, next_offset, location, topic)
        next_offset |= read
        began = {**_first_offsets(location, topic), **began}
        looked.append(f"offsets/{epoch_id} of checkpoint {location} (Spark query {query_id})")
    require_every_partition(pinned, ancestry, definition, client, deadline, next_offset)
    lost = require_beginning(pinned, definition, client, deadline, began, SPARK_QUERY_ID)
    provenance = ", ".join(f"epoch {epoch} of Spark query {query}" for query, (epoch, *_) in epochs.items())
    return CommittedOffsets(
        pinned.snapshot_id,
        None,
        next_offset,
        None,
        "spark",
        provenance,
        Basis.RECORD,
        lost=lost,
        looked=tuple(looked),
    )


def _epochs(pinned: PinnedTable, ancestry: Ancestry) -> dict[str, list[int]]:
    """Return each query's epochs, newest first; the query that came first comes first."""
    epochs: dict[str, list[int]] = {}
    order: list[str] = []
    for snapshot in ancestry:
        # A cherry-picked copy has no properties of its source.
        is_copy = summary_value(snapshot, SOURCE_ID) is not None
        marked = (find_source(pinned.table, snapshot) or snapshot) if is_copy else snapshot
        query_id, epoch_id = summary_value(marked, SPARK_QUERY_ID), summary_value(marked, SPARK_EPOCH_ID)
        if query_id is None or epoch_id is None:
            continue
        if not epoch_id.isdecimal():
            raise BoundaryUnknownError(
                f"snapshot {marked.snapshot_id} of table {pinned.identifier!r} has {SPARK_EPOCH_ID} "
                f"{epoch_id!r}, which is no epoch; correct what writes it",
                table=pinned.identifier,
            )
        epochs.setdefault(query_id, []).append(int(epoch_id))
        order = [query_id, *(known for known in order if known != query_id)]
    return {query_id: sorted(epochs[query_id], reverse=True) for query_id in order}


def _require_every_epoch(
    pinned: PinnedTable, epochs: Sequence[int], location: str, topic: str, *, is_complete: bool
) -> None:
    """Spark commits every epoch, so one that is missing was rolled back or went into another table.

    The query will not write its records again. An epoch that had read nothing is not missed.
    """
    steps = list(pairwise(sorted(epochs)))
    if is_complete:
        steps.insert(0, (-1, min(epochs)))
    for before, after in steps:
        if after <= before + 1:
            continue
        began = _offsets(location, _INITIAL if before < 0 else f"offsets/{before}", topic)
        ended = _offsets(location, f"offsets/{after - 1}", topic)
        if any(offset > began.get(partition, 0) for partition, offset in ended.items()):
            missing = f"epoch {after - 1}" if after == before + 2 else f"epochs {before + 1} to {after - 1}"
            raise BoundaryUnknownError(
                f"{missing} of the Spark query with checkpoint {location} is not in the history of "
                f"snapshot {pinned.snapshot_id} of table {pinned.identifier!r}, and later ones are: it was "
                "rolled back, or went into another table, and the query will not write its records again; "
                "let a new query begin with startingOffsets at what is missing, or name the table's Kafka "
                "columns",
                table=pinned.identifier,
                snapshot_id=pinned.snapshot_id,
            )


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
    raise NotOneToOneError(
        f"the Spark query with checkpoint {location} reads more than topic {topic!r}, or another source "
        f"({', '.join(sources)[:200]} in {name}): the hot half of one topic would lack the others' records; "
        "give each topic a query and a table of its own; if every record of the topic goes into this table "
        "alone, set boundary=columns",
        location=location,
    )


def _first_offsets(location: str, topic: str) -> dict[int, int]:
    try:
        return _offsets(location, _INITIAL, topic)
    except NotOneToOneError:
        raise
    except BoundaryUnknownError:
        return {}  # of a checkpoint without this file nobody knows where its query began


def _lines(location: str, name: str) -> list[str]:
    try:
        filesystem, path = (
            pafs.FileSystem.from_uri(location) if "://" in location else (pafs.LocalFileSystem(), location)
        )
        if filesystem.get_file_info(path.rstrip("/")).type == pafs.FileType.NotFound:
            raise BoundaryUnknownError(
                f"there is no folder {location} that can be seen from here; correct checkpointLocation",
                location=location,
            )
        with filesystem.open_input_stream(f"{path.rstrip('/')}/{name}") as stream:
            text = stream.read().decode()
    except (OSError, ValueError) as exc:
        raise BoundaryUnknownError(
            f"{name} cannot be read from Spark checkpoint {location}: {exc}; a checkpoint keeps about "
            "100 epochs (spark.sql.streaming.minBatchesToRetain), so read a newer snapshot if there is one, "
            "or correct checkpointLocation",
            location=location,
        ) from exc
    return str(text).splitlines()
