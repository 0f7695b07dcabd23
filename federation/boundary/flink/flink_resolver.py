"""The boundary of a table that Flink fills from Kafka.

Iceberg's sinks for Flink write the job's id and the number of the checkpoint they
commit into the summary of each snapshot, and no offset. The checkpoint's `_metadata`
holds how far the job's Kafka sources had read; both are one consistent cut, so
together they are exact, also of records that the job filters or skips. Flink keeps
few checkpoints: one that is gone is an error, unless nothing was written until a newer one.
"""

from __future__ import annotations

import json
from typing import Final

from coldset.table import PinnedTable, is_complete
from federation.boundary.assumptions import Assumption, Basis, in_order
from federation.boundary.committed import CommittedOffsets
from federation.boundary.flink.checkpoint_files import (
    Checkpoint,
    CheckpointGoneError,
    find_checkpoint,
    find_later,
)
from federation.boundary.flink.flink_commits import (
    FLINK_CHECKPOINT_ID,
    FLINK_JOB_ID,
    FlinkJob,
    jobs_of,
    place_of,
)
from federation.boundary.flink.job_shape import read_shape
from federation.boundary.flink.later_checkpoint import has_committed_since, has_nothing_to_commit
from federation.boundary.flink.source_positions import EARLIEST, read_positions
from federation.boundary.flink.state_bytes import MalformedStateError
from federation.boundary.rolled_back import require_none_undone
from federation.errors import BoundaryUnknownError, NotOneToOneError
from federation.options import TableDefinition
from foundation.deadline import Deadline
from foundation.lru import LruCache
from hotset.kafka import KafkaClient, read_log_bounds

# A boundary is a matter of the past, so what was found for a snapshot stays true, also after Flink
# has deleted the checkpoint.
_found: Final = LruCache[tuple[str, int, str], CommittedOffsets](256)


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
        NotOneToOneError: A job brings several topics into the table, or divides one between tables.
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
        self._assumed: set[Assumption] = set()
        self._elsewhere: set[str] = set()  # topics of jobs that do not read this one
        self._told: list[str] = []
        self._looked: list[str] = []

    def resolve(self) -> CommittedOffsets:
        jobs = list(jobs_of(self._pinned))
        if not jobs:
            raise self._unknown(f"no ancestor has {FLINK_JOB_ID} and {FLINK_CHECKPOINT_ID}")
        farthest = -1
        newer: FlinkJob | None = None
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
        if self._elsewhere:
            raise self._not_one_to_one(f"other Flink jobs read topics {', '.join(sorted(self._elsewhere))}")
        self._settle()
        require_none_undone(self._pinned, place_of)
        return CommittedOffsets(
            snapshot_id=self._pinned.snapshot_id,
            topic_id=None,
            next_offset=self._next_offset,
            isolation=None,
            resolver="flink",
            provenance=", ".join(self._told),
            basis=Basis.RECORD,
            assumed=in_order(self._assumed),
            looked=tuple(self._looked),
        )

    def _has(self, job: FlinkJob) -> bool:
        # Two jobs may count on by chance; while the older one's checkpoint is there, it is held against.
        checkpoint_id, *others = set(job.checkpoints.values())
        try:
            checkpoint = find_checkpoint(self._definition.checkpoints, job.job_id, checkpoint_id)
            self._require_sinks(checkpoint, job, checkpoint_id)
            read_positions(checkpoint.metadata, self._topic, checkpoint.load)
        except (CheckpointGoneError, MalformedStateError):
            return False
        return not others

    def _add(self, job: FlinkJob, *, is_concurrent: bool) -> None:
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

    def _positions(self, job: FlinkJob) -> dict[int, int]:
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

    def _read(self, job: FlinkJob, checkpoint_id: int) -> dict[int, int]:
        what = f"checkpoint {checkpoint_id} of Flink job {job.job_id}"
        for attempt in (1, 2):
            try:
                checkpoint = find_checkpoint(self._definition.checkpoints, job.job_id, checkpoint_id)
                self._require_sinks(checkpoint, job, checkpoint_id)
                positions = read_positions(checkpoint.metadata, self._topic, checkpoint.load)
                self._require_one_to_one(checkpoint, job, reads_topic=bool(positions))
            except (CheckpointGoneError, MalformedStateError) as exc:
                if attempt == 1:
                    continue  # a live job may have deleted it under our hands
                is_gone = isinstance(exc, CheckpointGoneError)
                if is_gone and (later := self._read_later(job, checkpoint_id)) is not None:
                    return later
                todo = (
                    self._what_to_give(job, checkpoint_id)
                    if is_gone
                    else "read it with a release that knows it, or name the table's Kafka columns"
                )
                raise self._unknown(f"{what}, which committed it, is not to be had: {exc}; {todo}") from exc
            self._tell(what, checkpoint, positions)
            return positions
        raise AssertionError("unreachable")

    def _read_later(self, job: FlinkJob, checkpoint_id: int) -> dict[int, int] | None:
        if "" in job.checkpoints or set(job.checkpoints.values()) != {checkpoint_id}:
            return None
        for checkpoint in find_later(self._definition.checkpoints, job.job_id, checkpoint_id):
            try:
                self._require_sinks(checkpoint, job, checkpoint_id)
                if not has_nothing_to_commit(checkpoint.metadata, job.checkpoints, checkpoint.load):
                    return None
                positions = read_positions(checkpoint.metadata, self._topic, checkpoint.load)
                self._require_one_to_one(checkpoint, job, reads_topic=bool(positions))
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

    def _what_to_give(self, job: FlinkJob, checkpoint_id: int) -> str:
        later = find_later(self._definition.checkpoints, job.job_id, checkpoint_id)
        if not later:
            return (
                "set checkpointLocation to the folder of the job's checkpoints, keep more of them "
                "(execution.checkpointing.num-retained), or give the savepoint it stopped with"
            )
        last = later[-1]
        return (
            f"{last.folder} is there with number {last.metadata.checkpoint_id}, and does not show that "
            "nothing was written in between; name the table's Kafka columns (kafkaColumns), or let the job "
            "commit once more"
        )

    def _require_one_to_one(self, checkpoint: Checkpoint, job: FlinkJob, *, reads_topic: bool) -> None:
        sinks = [each for each in job.checkpoints if each]
        table = self._pinned.identifier
        shape = read_shape(checkpoint.metadata, self._topic, table, sinks, checkpoint.load)
        if not reads_topic:
            self._elsewhere.update(shape.other_topics)
            return
        if shape.other_topics and shape.other_tables:
            self._assumed.add(Assumption.ONE_TO_ONE)  # nothing tells which topic goes where
            return
        does = [
            *([f"reads topics {', '.join(shape.other_topics)}"] if shape.other_topics else ()),
            *([f"fills tables {', '.join(shape.other_tables)}"] if shape.other_tables else ()),
        ]
        if does:
            raise self._not_one_to_one(f"Flink job {job.job_id} also {does[0]}")

    def _tell(self, what: str, checkpoint: Checkpoint, positions: dict[int, int]) -> None:
        self._told.append(what)
        self._looked.append(f"{what}, in {checkpoint.folder}: next offsets {json.dumps(positions)}")

    def _require_sinks(self, checkpoint: Checkpoint, job: FlinkJob, checkpoint_id: int) -> None:
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

    def _not_one_to_one(self, why: str) -> NotOneToOneError:
        return NotOneToOneError(
            f"table {self._pinned.identifier!r} and topic {self._topic!r} are not one to one: {why}; give "
            "each topic and table a job of its own; if every record of the topic goes into this table "
            "alone, set boundary=columns",
            table=self._pinned.identifier,
            snapshot_id=self._pinned.snapshot_id,
        )

    def _unknown(self, what: str) -> BoundaryUnknownError:
        return BoundaryUnknownError(
            f"the boundary of snapshot {self._pinned.snapshot_id} of table {self._pinned.identifier!r} is "
            f"not known: {what}",
            table=self._pinned.identifier,
            snapshot_id=self._pinned.snapshot_id,
        )
