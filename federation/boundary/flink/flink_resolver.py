"""The boundary of a table that Flink fills from Kafka.

Iceberg's sinks for Flink write the job's id and the number of the checkpoint they
commit into the summary of each snapshot, and no offset. The checkpoint's `_metadata`
holds how far the job's Kafka sources had read; both are one consistent cut, so
together they are exact, also of records that the job filters or skips. Flink keeps
few checkpoints: one that is gone is an error, unless nothing was written until a newer one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from coldset.table import PinnedTable, Snapshot, is_complete, summary_value, walk_parents
from federation.boundary.assumptions import Basis
from federation.boundary.committed import CommittedOffsets
from federation.boundary.flink.checkpoint_files import (
    Checkpoint,
    CheckpointGoneError,
    find_checkpoint,
    find_later,
)
from federation.boundary.flink.later_checkpoint import has_committed_since, has_nothing_to_commit
from federation.boundary.flink.source_positions import EARLIEST, read_positions
from federation.boundary.flink.state_bytes import MalformedStateError
from federation.boundary.rolled_back import require_none_undone
from federation.errors import BoundaryUnknownError, NotOneToOneError
from federation.options import TableDefinition
from foundation.deadline import Deadline
from foundation.lru import LruCache
from hotset.kafka import KafkaClient, read_log_bounds

FLINK_JOB_ID: Final = "flink.job-id"
FLINK_CHECKPOINT_ID: Final = "flink.max-committed-checkpoint-id"
FLINK_OPERATOR_ID: Final = "flink.operator-id"

# A boundary is a matter of the past, so what was found for a snapshot stays true, also after Flink
# has deleted the checkpoint.
_found: Final = LruCache[tuple[str, int, str], CommittedOffsets](256)


@dataclass(slots=True)
class _Job:
    """One job's commits among the ancestors; places count back from the snapshot that is read."""

    job_id: str
    nearest: int
    farthest: int
    first: int  # the lowest checkpoint it committed
    checkpoints: dict[str, int] = field(default_factory=dict)  # of each sink, the last it committed


def resolve_flink(
    pinned: PinnedTable, definition: TableDefinition, client: KafkaClient, deadline: Deadline
) -> CommittedOffsets:
    """Return the boundary recorded in the checkpoints of the jobs that fill the table.

    Args:
        pinned: The loaded table and snapshot.
        definition: Settled options; `checkpoints` are folders of checkpoints or savepoints.
        client: The cluster that has the topic.
        deadline: When to give up.

    Raises:
        BoundaryUnknownError: A checkpoint is gone or not understood, or jobs disagree.
        HotsetError: Kafka did not tell which partitions the topic has.
    """
    assert pinned.snapshot is not None
    assert definition.topic is not None
    key = (pinned.uuid, pinned.snapshot.snapshot_id, definition.topic)
    found = _found.get(key)
    if found is None:
        found = _Resolution(pinned, definition, client, deadline).resolve()
        _found.put(key, found)
    return found


class _Resolution:
    """One look for one snapshot; `next_offset` grows from the newest job to the oldest."""

    def __init__(
        self, pinned: PinnedTable, definition: TableDefinition, client: KafkaClient, deadline: Deadline
    ) -> None:
        assert definition.topic is not None
        self._pinned, self._definition, self._client = pinned, definition, client
        self._deadline = deadline
        self._topic = definition.topic
        self._next_offset: dict[int, int] = {}
        self._told: list[str] = []
        self._looked: list[str] = []

    def resolve(self) -> CommittedOffsets:
        jobs = list(_jobs(self._pinned))
        if not jobs:
            raise self._unknown(f"no ancestor has {FLINK_JOB_ID} and {FLINK_CHECKPOINT_ID}")
        farthest = -1
        newer: _Job | None = None
        has_concurrent = False
        for job in jobs:
            is_concurrent = job.nearest < farthest
            has_concurrent |= is_concurrent
            farthest = max(farthest, job.farthest)
            # A job that goes on from this one's state counts its checkpoints on, and has read no less.
            is_continued = newer is not None and newer.first > max(job.checkpoints.values())
            newer = job
            if has_concurrent or not is_continued or self._has(job):
                self._add(job, is_concurrent=is_concurrent)
        if not self._next_offset:
            raise NotOneToOneError(
                f"no source of the Flink jobs that fill table {self._pinned.identifier!r} reads topic "
                f"{self._topic!r}; correct subscribe, or checkpointLocation",
                table=self._pinned.identifier,
            )
        self._settle()
        require_none_undone(self._pinned, _place)
        return CommittedOffsets(
            snapshot_id=self._pinned.snapshot_id,
            topic_id=None,
            next_offset=self._next_offset,
            isolation=None,
            resolver="flink",
            provenance=", ".join(self._told),
            basis=Basis.RECORD,
            looked=tuple(self._looked),
        )

    def _has(self, job: _Job) -> bool:
        # Two jobs may count on by chance; while the older one's checkpoint is there, it is held against.
        checkpoint_id, *others = set(job.checkpoints.values())
        try:
            checkpoint = find_checkpoint(self._definition.checkpoints, job.job_id, checkpoint_id)
            self._require_sinks(checkpoint, job, checkpoint_id)
            read_positions(checkpoint.metadata, self._topic, checkpoint.load)
        except (CheckpointGoneError, MalformedStateError):
            return False
        return not others

    def _add(self, job: _Job, *, is_concurrent: bool) -> None:
        for partition, offset in self._positions(job).items():
            known = self._next_offset.get(partition)
            if known is None or (known < 0 <= offset):
                self._next_offset[partition] = offset
            elif offset >= 0 and (offset > known or (is_concurrent and offset != known)):
                raise self._unknown(
                    f"two Flink jobs have filled it from partition {partition} of topic "
                    f"{self._topic!r}, up to {known} and (job {job.job_id}) {offset}, so no single "
                    "boundary is right"
                )

    def _positions(self, job: _Job) -> dict[int, int]:
        found: dict[int, int] | None = None
        for checkpoint_id in sorted(set(job.checkpoints.values()), reverse=True):
            positions = self._read(job, checkpoint_id)
            if found is not None and positions != found:
                raise self._unknown(
                    f"job {job.job_id} fills it by several sinks, which have committed checkpoints "
                    f"{sorted(set(job.checkpoints.values()))}, and its sources had moved in between"
                )
            found = positions
        assert found is not None
        return found

    def _read(self, job: _Job, checkpoint_id: int) -> dict[int, int]:
        what = f"checkpoint {checkpoint_id} of Flink job {job.job_id}"
        for attempt in (1, 2):
            try:
                checkpoint = find_checkpoint(self._definition.checkpoints, job.job_id, checkpoint_id)
                self._require_sinks(checkpoint, job, checkpoint_id)
                positions = read_positions(checkpoint.metadata, self._topic, checkpoint.load)
            except (CheckpointGoneError, MalformedStateError) as exc:
                if attempt == 1:
                    continue  # a live job may have deleted it under our hands
                is_gone = isinstance(exc, CheckpointGoneError)
                if is_gone and (later := self._read_later(job, checkpoint_id)) is not None:
                    return later
                todo = (
                    "set checkpointLocation to the folder of the job's checkpoints, keep more of them "
                    "(execution.checkpointing.num-retained), or give the savepoint it stopped with"
                    if is_gone
                    else "read it with a release that knows it, or name the table's Kafka columns"
                )
                raise self._unknown(f"{what}, which committed it, is not to be had: {exc}; {todo}") from exc
            self._tell(what, checkpoint, positions)
            return positions
        raise AssertionError("unreachable")

    def _read_later(self, job: _Job, checkpoint_id: int) -> dict[int, int] | None:
        if "" in job.checkpoints or set(job.checkpoints.values()) != {checkpoint_id}:
            return None
        for checkpoint in find_later(self._definition.checkpoints, job.job_id, checkpoint_id):
            try:
                self._require_sinks(checkpoint, job, checkpoint_id)
                if not has_nothing_to_commit(checkpoint.metadata, job.checkpoints, checkpoint.load):
                    return None
                positions = read_positions(checkpoint.metadata, self._topic, checkpoint.load)
            except (CheckpointGoneError, MalformedStateError):
                continue
            if has_committed_since(
                self._pinned, self._definition, job.job_id, checkpoint_id, (FLINK_JOB_ID, FLINK_CHECKPOINT_ID)
            ):
                return None
            number = checkpoint.metadata.checkpoint_id
            what = f"checkpoint {number} of Flink job {job.job_id}, before which nothing was written since"
            self._tell(f"{what} checkpoint {checkpoint_id}", checkpoint, positions)
            return positions
        return None

    def _tell(self, what: str, checkpoint: Checkpoint, positions: dict[int, int]) -> None:
        self._told.append(what)
        self._looked.append(f"{what}, in {checkpoint.folder}: next offsets {json.dumps(positions)}")

    def _require_sinks(self, checkpoint: Checkpoint, job: _Job, checkpoint_id: int) -> None:
        there = {operator.operator_id for operator in checkpoint.metadata.operators}
        for operator_id, committed in job.checkpoints.items():
            if operator_id and committed == checkpoint_id and operator_id not in there:
                raise MalformedStateError(
                    f"{checkpoint.folder} knows nothing of the table's sink {operator_id}"
                )

    def _partitions_with_records(self) -> list[int]:
        # No job can have read anything of the others.
        isolation = self._definition.isolation
        bounds = read_log_bounds(self._client, self._topic, isolation, self._deadline)
        return [found.partition for found in bounds.partitions if found.high_watermark > 0]

    def _settle(self) -> None:
        # What no job has read yet holds nothing, if all jobs are known and it will begin at the first record.
        unread = {p: offset for p, offset in self._next_offset.items() if offset < 0}
        is_whole = is_complete(self._pinned.table, self._pinned.snapshot)
        if not is_whole or any(offset != EARLIEST for offset in unread.values()):
            for partition in self._partitions_with_records():
                offset = self._next_offset.get(partition, EARLIEST)
                if offset < 0 and not (offset == EARLIEST and is_whole):
                    why = "will not begin at its first record" if is_whole else "older snapshots are expired"
                    raise self._unknown(
                        f"the Flink job had read nothing of partition {partition} of topic "
                        f"{self._topic!r} yet, and {why}, so what the table holds of it is open"
                    )
        for partition in unread:
            del self._next_offset[partition]

    def _unknown(self, what: str) -> BoundaryUnknownError:
        return BoundaryUnknownError(
            f"the boundary of snapshot {self._pinned.snapshot_id} of table {self._pinned.identifier!r} is "
            f"not known: {what}",
            table=self._pinned.identifier,
            snapshot_id=self._pinned.snapshot_id,
        )


def _place(snapshot: Snapshot) -> tuple[object, int] | None:
    job_id, number = summary_value(snapshot, FLINK_JOB_ID), summary_value(snapshot, FLINK_CHECKPOINT_ID)
    if job_id is None or number is None or not number.isdecimal():
        return None
    return (job_id, summary_value(snapshot, FLINK_OPERATOR_ID)), int(number)


def _jobs(pinned: PinnedTable) -> Iterator[_Job]:
    jobs: dict[str, _Job] = {}
    for place, snapshot in enumerate(walk_parents(pinned.table, pinned.snapshot)):
        job_id, number = summary_value(snapshot, FLINK_JOB_ID), summary_value(snapshot, FLINK_CHECKPOINT_ID)
        if job_id is None or number is None or not number.isdecimal():
            continue
        job = jobs.setdefault(job_id, _Job(job_id, place, place, int(number)))
        job.farthest, job.first = place, min(job.first, int(number))
        job.checkpoints.setdefault(summary_value(snapshot, FLINK_OPERATOR_ID) or "", int(number))
    yield from jobs.values()
