"""The commits that Flink jobs have made to a table, by what Iceberg's sinks leave in the summaries.

A summary names the job, the sink's operator and the number of the checkpoint that
was committed. Numbers rise within a job, and go on in a job that was started from
the state of another. It must not know checkpoints, nor open a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from coldset.table import Ancestry, PinnedTable, Snapshot, summary_value

FLINK_JOB_ID: Final = "flink.job-id"
FLINK_CHECKPOINT_ID: Final = "flink.max-committed-checkpoint-id"
FLINK_OPERATOR_ID: Final = "flink.operator-id"


@dataclass(slots=True)
class FlinkJob:
    """One job's commits among the ancestors; places count back from the snapshot that is read."""

    job_id: str
    nearest: int
    farthest: int
    first: int  # the lowest checkpoint it committed
    checkpoints: dict[str, int] = field(default_factory=dict)  # of each sink, the last it committed


def place_of(snapshot: Snapshot) -> tuple[object, int] | None:
    """Return which job's sink made a commit, and the number of its checkpoint; None for others."""
    job_id, number = summary_value(snapshot, FLINK_JOB_ID), summary_value(snapshot, FLINK_CHECKPOINT_ID)
    if job_id is None or number is None or not number.isdecimal():
        return None
    return (job_id, summary_value(snapshot, FLINK_OPERATOR_ID)), int(number)


def jobs_of(pinned: PinnedTable) -> Iterator[FlinkJob]:
    """Yield the jobs that have committed to the snapshot's history, the one that did last first."""
    jobs: dict[str, FlinkJob] = {}
    assert pinned.snapshot is not None
    for place, snapshot in enumerate(Ancestry(pinned.table, pinned.snapshot)):
        job_id, number = summary_value(snapshot, FLINK_JOB_ID), summary_value(snapshot, FLINK_CHECKPOINT_ID)
        if job_id is None or number is None or not number.isdecimal():
            continue
        job = jobs.setdefault(job_id, FlinkJob(job_id, place, place, int(number)))
        job.farthest, job.first = place, min(job.first, int(number))
        job.checkpoints.setdefault(summary_value(snapshot, FLINK_OPERATOR_ID) or "", int(number))
    yield from jobs.values()
