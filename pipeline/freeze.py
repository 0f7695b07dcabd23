"""Freeze: make the hot records of one cut part of the table, exactly once.

Take a cut, read its hot ranges on Spark's executors, write data files there,
and commit once with the new boundary in the snapshot's summary. The fence is
the boundary itself: the commit lands only on a table whose boundary is still
the start of the cut, so of two jobs that froze the same records one lands, and
one that slept through another's commit lands nothing. Kafka is not changed.
"""

from __future__ import annotations

import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from coldset.errors import ColdsetError
from coldset.table import PinnedTable, open_catalog
from coldset.write import commit_append, delete_files, write_files
from federation.boundary import OFFSETS_PROPERTY, PIN_TAG, render_offsets, resolve_boundary
from federation.cut import Cut, TakenCut, take_cut
from federation.errors import OptionError
from federation.options import resolve, storage_for
from federation.plan import answer_schema, plan_hot
from federation.read import HotMeter, HotSplit, read_split
from foundation.deadline import Deadline
from hotset.decode import BadRecord
from hotset.errors import HotsetError
from hotset.kafka import connect
from hotset.store import NAMED
from pipeline.errors import FencedError
from pipeline.freezable import check_cut, check_options

if TYPE_CHECKING:  # the session is the caller's, and whoever has none needs no Spark
    from pyspark.sql import SparkSession

# In the summary of each snapshot that a freeze makes: how many records of its cut it left out.
BAD_PROPERTY: Final = "kafkaiceberg.records-bad"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What of the records is in no row: those that are none, and fields that no column is for.

    Attributes:
        records: How many records are no rows.
        first: The first of them.
        unmapped: Paths of fields of the others that the table has no column for, in order.
    """

    records: int = 0
    first: tuple[BadRecord, ...] = ()
    unmapped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FreezeResult:
    """What one freeze did.

    Attributes:
        table: The table.
        snapshot_id: The new snapshot, or None if there was nothing to freeze.
        rows: Records that became part of the table.
        left_out: What was left out for good: records that are no rows (`badRecords=skip`), and fields.
        files: Data files written.
        cut: The cut that was frozen; its ends are the new boundary.
        elapsed_ms: How long it took.
    """

    table: str
    snapshot_id: int | None
    rows: int
    files: int
    cut: Cut
    elapsed_ms: float
    left_out: LeftOut


@dataclass(frozen=True, slots=True)
class Staged:
    """Files written by executors for one cut, which are in no snapshot yet."""

    taken: TakenCut
    files: tuple[Any, ...]
    rows: int
    left_out: LeftOut = LeftOut()


def freeze_once(spark: SparkSession, options: Mapping[str, str]) -> FreezeResult:
    """Freeze everything that is hot now.

    Args:
        spark: The session whose executors read and write.
        options: From `federation.options.merge_options`.

    Raises:
        FencedError: Another commit moved the boundary; nothing of this one is in the table.
        FreezeOptionError: The options pin a snapshot, branch, tag or cut, or keep bad records elsewhere, or
            the table is one that no freeze can write.
        CommitStateUnknownError: The catalog did not say whether the commit landed.
        CutError, HotsetError, ColdsetError: No exact cut, or a record could not be read.
    """
    began_s = time.monotonic()
    check_options(options)
    taken = take_cut(options)
    check_cut(taken)
    # Offsets without visible records still move the boundary, or they would be read for ever.
    if taken.cut.hot_span == 0 and not taken.cut.gaps:
        return FreezeResult(taken.cut.table, None, 0, 0, taken.cut, _since_ms(began_s), LeftOut())
    staged = stage(spark, taken)
    snapshot_id = commit(staged)
    result = FreezeResult(
        taken.cut.table,
        snapshot_id,
        staged.rows,
        len(staged.files),
        taken.cut,
        _since_ms(began_s),
        staged.left_out,
    )
    _log.info("froze %d rows of %s into snapshot %s", result.rows, result.table, snapshot_id)
    return result


def stage(spark: SparkSession, taken: TakenCut) -> Staged:
    """Write the hot records of a cut into data files, on executors; commit nothing.

    Raises:
        HotsetError: A record does not decode, or cannot be read whoever tries.
        Exception: Spark's own, if a task failed for good in any other way.
    """
    # What is about to be committed is worth no place in the hot store.
    planned = plan_hot(taken, answer_schema(taken), spread=True)
    splits = [replace(split, store=None) for split in planned]
    if not splits:
        return Staged(taken, (), 0)
    metadata = taken.pinned.layout
    write = partial(_write_split, metadata, partial(storage_for, *_catalog_of(taken)))
    outcomes = spark.sparkContext.parallelize(splits, len(splits)).flatMap(write).collect()
    files = tuple(found for found in outcomes if not isinstance(found, Exception | HotMeter))
    bad = _left_out([found for found in outcomes if isinstance(found, HotMeter)])
    for found in outcomes:
        if isinstance(found, Exception):
            _delete(taken, files)
            raise found
    return Staged(taken, files, sum(file.record_count for file in files), bad)


def commit(staged: Staged) -> int:
    """Make staged files part of the table, if its boundary has not moved.

    Returns:
        The id of the new snapshot.

    Raises:
        FencedError: It has moved; the files have been deleted.
        CommitConflictError: Other commits kept winning; the files are left as orphans.
        CommitStateUnknownError: The outcome is not known; the files are kept.
    """
    cut, definition = staged.taken.cut, staged.taken.definition
    catalog = open_catalog(definition.catalog_name, resolve(definition.catalog_properties))
    left_out = {BAD_PROPERTY: str(staged.left_out.records)} if staged.left_out.records else {}
    return commit_append(
        catalog,
        cut.table,
        staged.files,
        {OFFSETS_PROPERTY: new_boundary(staged.taken)} | left_out,
        commit_id=str(uuid.uuid4()),
        pin_tag=PIN_TAG,
        fence=partial(require_boundary, staged.taken),
        discard=lambda: _delete(staged.taken, staged.files),
    )


def new_boundary(taken: TakenCut) -> str:
    """Return the boundary property of the snapshot that freezes this cut."""
    cut = taken.cut
    assert cut.topic is not None
    assert cut.topic_id is not None
    assert taken.bounds is not None
    return render_offsets(
        topic=cut.topic,
        topic_id=cut.topic_id,
        isolation=cut.isolation,
        next_offset={r.partition: r.end for r in cut.ranges},
        leader_epoch={p.partition: p.leader_epoch for p in taken.bounds.partitions},
        lost=(*cut.lost, *cut.gaps),
        assumed=() if taken.committed is None else taken.committed.assumed,
    )


def require_boundary(taken: TakenCut, pinned: PinnedTable) -> None:
    """Raise unless the table still holds exactly what it held when the cut was taken.

    Raises:
        FencedError: It does not, or its schema or partition spec has changed.
        BoundaryUnknownError: The table's boundary can no longer be found.
    """
    cut, definition = taken.cut, taken.definition
    then = taken.pinned
    if (pinned.uuid, pinned.schema_id, pinned.spec_id) != (then.uuid, then.schema_id, then.spec_id):
        raise FencedError(
            f"table {cut.table!r} was replaced, or got another schema or partition spec, since its "
            "files were "
            "written; nothing of this freeze is in the table; freeze again",
            table=cut.table,
        )
    deadline = Deadline.after_ms(definition.plan_timeout_ms)
    client = connect(resolve(definition.kafka_properties))
    committed = resolve_boundary(pinned, definition, client, deadline)
    held = {r.partition: cut.committed(r.partition) for r in cut.ranges}
    moved = [p for p in sorted({*held, *committed.next_offset}) if committed.of(p) != held.get(p, 0)]
    if moved or (committed.topic_id not in (None, cut.topic_id)):
        raise FencedError(
            f"another commit moved the boundary of table {cut.table!r} (partitions {moved}) "
            "since this freeze took its cut; nothing of this freeze is in the table; the next freeze goes on "
            "from there",
            table=cut.table,
            partitions=moved,
        )


def _catalog_of(taken: TakenCut) -> tuple[str, Mapping[str, str], str]:
    return taken.definition.catalog_name, taken.definition.catalog_properties, taken.cut.table


def _write_split(metadata: Any, storage: Callable[[], dict[str, str]], split: HotSplit) -> Iterator[Any]:
    meter = HotMeter()
    try:
        batches = list(read_split(split, meter))
    except HotsetError as exc:
        if exc.retriable:
            raise  # Spark tries the task again
        yield exc  # the same for every try, and Spark would pass on its text only
        return
    rows = pa.Table.from_batches(batches, schema=split.schema)
    if rows.num_rows:
        yield from write_files(metadata, rows, storage())
    yield meter


def _left_out(meters: Sequence[HotMeter]) -> LeftOut:
    first = sorted(found for meter in meters for found in meter.counts.first_bad)
    unmapped = set[str]().union(*(meter.counts.unmapped for meter in meters))
    return LeftOut(sum(meter.counts.bad for meter in meters), tuple(first[:NAMED]), tuple(sorted(unmapped)))


def _delete(taken: TakenCut, files: tuple[Any, ...]) -> None:
    # What cannot be deleted is an orphan, and must not hide why it is deleted.
    with contextlib.suppress(OSError, ColdsetError, OptionError):
        storage = storage_for(*_catalog_of(taken))
        delete_files(taken.pinned.layout, (file.file_path for file in files), storage)


def _since_ms(began_s: float) -> float:
    return (time.monotonic() - began_s) * 1000
