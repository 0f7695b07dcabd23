"""From a cut to splits: pure, apart from reading the manifests of the snapshot.

Everything here is decided by the cut, so planning it twice gives the same
splits; Spark may ask twice for one statement. The file reads no records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import pyarrow as pa

from coldset.files import ColdFile
from coldset.plan import MatchingFiles, ParquetScan, plan_cold, plan_matching, plan_parquet_scan
from coldset.prune import Predicate
from federation.boundary import epoch_unit_of, layout_of
from federation.cut import TakenCut
from federation.errors import HotBudgetError, OptionError
from federation.options import Part, storage_for
from federation.read import Bounds, ColdSplit, HotSplit, narrow
from hotset.decode import LETTERS, MARKS, BadRecords, Source, can_fill, check_source, require_columns
from hotset.kafka import OffsetRange
from hotset.store import FILE_MARKS


def answer_schema(
    taken: TakenCut, columns: Sequence[str] | None = None, *, part: Part = Part.ROWS
) -> pa.Schema:
    """Return the schema of the answer, or of some of its columns in that order.

    Raises:
        OptionError: A column is not in the table, or is named twice; or bad records are
            not kept in the way that is asked for.
    """
    schema = _letters_schema(taken) if part is Part.DEAD_LETTERS else _rows_schema(taken)
    if columns is None:
        return schema
    for name in columns:
        if name not in schema.names:
            known = ", ".join(schema.names)
            raise OptionError(
                f"table {part.of(taken.cut.table)!r} has no column {name!r}; it has {known}", column=name
            )
    if len(set(columns)) < len(columns):
        raise OptionError(f"columns {', '.join(columns)} name one column twice", columns=list(columns))
    return pa.schema([schema.field(name) for name in columns])


def _rows_schema(taken: TakenCut) -> pa.Schema:
    schema = taken.pinned.arrow_schema
    if taken.definition.record_format.bad_records is not BadRecords.NULL:
        return schema
    for mark in MARKS:
        if mark.name in schema.names:
            raise OptionError(
                f"table {taken.cut.table!r} has a column {mark.name!r} of its own, which badRecords=null "
                "adds to answers; choose another policy",
                option="badRecords",
            )
    # A record that is no row has no value for any column, also for those that rows must have.
    return pa.schema([*(pa.field(found.name, found.type) for found in schema), *MARKS])


def _letters_schema(taken: TakenCut) -> pa.Schema:
    policy = taken.definition.record_format.bad_records
    if policy is not BadRecords.DEAD_LETTER:
        raise OptionError(
            f"table {taken.cut.table!r} has no dead letters (badRecords={policy}); set "
            "badRecords=dead_letter, and bad records are left out of the table and found there",
            option="badRecords",
        )
    return LETTERS


def plan_hot(
    taken: TakenCut,
    schema: pa.Schema,
    *,
    spread: bool,
    part: Part = Part.ROWS,
    bounds: Mapping[str, Bounds] = MappingProxyType({}),
) -> tuple[HotSplit, ...]:
    """Return the splits that together read the cut's hot ranges.

    Args:
        taken: The cut.
        schema: The columns wanted, from `answer_schema`.
        spread: One split per partition, large ones divided, to be read by
            several tasks; else one split for all ranges, read by one consumer.
        part: What is wanted of the records.
        bounds: Column to bounds outside of which no row is looked at; rows outside may come.

    Raises:
        HotBudgetError: The ranges span more offsets than `maxHotRecords`.
        OptionError: The table's Kafka columns are not those that an option names.
        UnsupportedFormatError: A wanted column is one that its writer fills with
            what a record does not tell, or the format cannot fill the table's columns.
    """
    cut, definition = taken.cut, taken.definition
    whole = taken.pinned.arrow_schema
    layout = layout_of(whole, definition)
    limit = definition.max_hot_records
    if limit is not None and cut.hot_span > limit:
        raise HotBudgetError(
            f"the hot ranges of table {cut.table!r} span {cut.hot_span} offsets, more than "
            f"maxHotRecords={limit}; "
            "freeze more often, or raise the limit",
            table=cut.table,
            span=cut.hot_span,
        )
    columns = {} if layout is None else layout.columns
    ranges = narrow([r for r in cut.ranges if not r.is_empty], columns, bounds)
    if not ranges or cut.topic is None or cut.topic_id is None:
        return ()
    log = () if taken.bounds is None else taken.bounds.partitions
    epochs = {found.partition: found.leader_epoch for found in log}
    for field in schema if part is Part.ROWS else ():
        if field.name in columns:
            check_source(field.name, columns[field.name], field.type)
    require_columns(definition.record_format, whole, columns)
    filled = _filled(taken, columns)
    starts = {found.partition: found.start for found in cut.ranges}
    record_format = definition.record_format
    if record_format.epoch_unit is None:
        record_format = replace(record_format, epoch_unit=epoch_unit_of(taken.committed, definition))
    groups = [(piece,) for r in ranges for piece in divide(r, definition.max_records_per_split)]
    return tuple(
        HotSplit(
            table=cut.table,
            topic=cut.topic,
            topic_id=cut.topic_id,
            isolation=cut.isolation,
            ranges=group,
            starts=starts,
            leader_epoch=epochs,
            record_format=record_format,
            kafka_columns=columns,
            part=part,
            schema=schema,
            whole=whole,
            filled=filled,
            kafka_properties=definition.kafka_properties,
            read_timeout_ms=definition.read_timeout_ms,
            no_progress_timeout_ms=definition.no_progress_timeout_ms,
            max_bytes=definition.max_hot_bytes,
            drain_bytes=definition.max_drain_bytes,
            store=definition.store,
        )
        for group in (groups if spread else [ranges])
    )


def require_unfiltered(taken: TakenCut, where: str) -> None:
    """Raise if a filter is set for a table, where the reader has one of its own.

    Args:
        taken: The table's cut.
        where: What the reader calls it.

    Raises:
        OptionError: Option `filter` is set.
    """
    if taken.definition.filter is not None:
        raise OptionError(
            f"option 'filter' of table {taken.cut.table!r} is for scans and Spark's data source; use {where}",
            option="filter",
        )


def _filled(taken: TakenCut, coordinates: Mapping[str, Source]) -> pa.Schema:
    """Return the columns that records fill, as a file has them; others are an error where they are read."""
    table = [
        found
        for found in taken.pinned.file_schema
        if found.name not in coordinates or can_fill(coordinates[found.name], found.type)
    ]
    if taken.definition.record_format.bad_records is not BadRecords.NULL:
        return pa.schema(table)
    # A record that is no row has no value for any column, also for those that rows must have.
    return pa.schema([*(found.with_nullable(nullable=True) for found in table), *FILE_MARKS])


def plan_cold_splits(
    taken: TakenCut,
    columns: Sequence[str],
    *,
    part: Part = Part.ROWS,
    files: Sequence[ColdFile] | None = None,
    where: Predicate | None = None,
) -> tuple[ColdSplit, ...]:
    """Return the splits that together read the cut's snapshot, or some of its files; it has no dead letters.

    Args:
        taken: The cut.
        columns: The columns wanted, in order.
        part: What is wanted of the records.
        files: Which files; by default those that may have rows for which `where` is true.
        where: Rows for which this is not true may be left out.

    Raises:
        OptionError: A column is not in the answer.
        UnsupportedTableError: The snapshot has deletes that cannot be applied.
        ColdReadError: A manifest could not be read.
    """
    if part is Part.DEAD_LETTERS:
        return ()
    schema = answer_schema(taken, columns)
    held = set(taken.pinned.arrow_schema.names)
    read = tuple(name for name in columns if name in held)
    tasks = plan_cold(taken.pinned, split_bytes=taken.definition.split_bytes, files=files, where=where)
    catalog = (taken.definition.catalog_name, taken.definition.catalog_properties)
    return tuple(ColdSplit(task, read, schema, *catalog) for task in tasks)


def match_files(taken: TakenCut, where: Predicate | None) -> MatchingFiles | None:
    """Return the files of the cut's snapshot that may have rows for which a predicate is true.

    None if there is no snapshot.

    Raises:
        UnsupportedTableError: The snapshot has deletes that cannot be applied.
        ColdReadError: A manifest could not be read.
    """
    return None if taken.pinned.snapshot is None else plan_matching(taken.pinned, where)


def plan_scan(taken: TakenCut) -> ParquetScan | None:
    """Return how an engine can scan the cut's snapshot itself; None if it can read none of its files.

    Raises:
        UnsupportedTableError: The snapshot has deletes that cannot be applied.
        ColdReadError: A manifest could not be read.
        OptionError: A secret's reference names nothing here.
    """
    if taken.pinned.snapshot is None:
        return None
    catalog = (taken.definition.catalog_name, taken.definition.catalog_properties)
    storage = storage_for(*catalog, taken.cut.table)
    # Whoever brings code of his own to open files wants them opened by it.
    return None if "py-io-impl" in storage else plan_parquet_scan(taken.pinned, storage)


def divide(whole: OffsetRange, at_most: int) -> tuple[OffsetRange, ...]:
    """Cut a range into consecutive ranges of at most that many offsets."""
    starts = range(whole.start, whole.end, at_most)
    return tuple(OffsetRange(whole.partition, start, min(start + at_most, whole.end)) for start in starts)
