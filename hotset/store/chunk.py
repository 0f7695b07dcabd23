"""A chunk: rows of hot ranges as one Parquet file that never changes, with a description in its footer.

Engines read the file as it is: its columns have the table's field ids, and its pages are compressed with
zstd, because Iceberg's Java reader fails on dictionary pages that Arrow compressed with lz4. What the records
were that are no rows is in files beside it. Which chunks there are is `log_folder`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from foundation.lru import LruCache
from hotset.decode import LETTERS, BadRecord
from hotset.kafka import OffsetRange
from hotset.store.hot_rows import (
    FILE_MARKS,
    OFFSET,
    OTHERS,
    PARTITION,
    PLACE,
    RowCounts,
    Rows,
    cut_ranges,
    filter_within,
    newest_of,
)

ROWS: Final = ".parquet"
OTHER_RECORDS: Final = ".others"
DEAD_LETTERS: Final = ".letters"

# As DuckDB reads them in parallel, and Spark prunes them.
_GROUP_ROWS: Final = 122_880
_DESCRIPTION: Final = b"kafkaiceberg.chunk"
_TRIMMED: Final = 256


@dataclass(frozen=True, slots=True)
class ChunkInfo:
    """What a chunk holds.

    Attributes:
        ranges: Its ranges, at most one per partition.
        epochs: For each range, the epoch of the leader under which it was read.
        counts: What the records were.
        size_bytes: How much memory its rows take.
        with_nan: Names of the top columns of floats in which some value is NaN.
    """

    ranges: tuple[OffsetRange, ...]
    epochs: tuple[int, ...]
    counts: RowCounts
    size_bytes: int
    with_nan: frozenset[str]

    @property
    def places(self) -> tuple[tuple[OffsetRange, int], ...]:
        """Each range with its leader's epoch."""
        return tuple(zip(self.ranges, self.epochs, strict=True))


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk that is there, or was there a moment ago. Equal paths are the same rows."""

    path: Path
    info: ChunkInfo = field(compare=False)

    @property
    def files(self) -> tuple[Path, ...]:
        """Its file, and those that may be beside it."""
        return self.path, self.path.with_suffix(OTHER_RECORDS), self.path.with_suffix(DEAD_LETTERS)

    def is_within(self, ranges: Sequence[OffsetRange]) -> bool:
        """Return whether all its records lie within ranges, at most one per partition."""
        return cut_ranges(self.info.ranges, ranges) == self.info.ranges

    def counts_within(self, ranges: Sequence[OffsetRange]) -> RowCounts:
        """Return what the records were that lie within ranges.

        Raises:
            OSError: The file is gone.
        """
        if self.is_within(ranges):
            return self.info.counts
        return _counts_within(self, cut_ranges(self.info.ranges, ranges))

    def batches_within(
        self, ranges: Sequence[OffsetRange], columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows within ranges, with these columns; the chunk may go once this has returned.

        Raises:
            OSError: The file is gone.
        """
        file, names = pq.ParquetFile(self.path), list(columns)
        # A name may also be the path of a field in another column, which is read with it then.
        if self.is_within(ranges):
            return (batch.select(names) for batch in file.iter_batches(columns=names))
        batches = file.iter_batches(columns=[*names, PARTITION, OFFSET])
        tables = (filter_within(pa.Table.from_batches([batch]), ranges) for batch in batches)
        return (batch for table in tables for batch in table.select(names).to_batches())

    def letters_within(self, ranges: Sequence[OffsetRange]) -> pa.Table:
        """Return the dead letters that lie within ranges, if they were kept with the chunk.

        Raises:
            OSError: The file is gone.
        """
        path = self.path.with_suffix(DEAD_LETTERS)
        if not self.info.counts.bad:
            return LETTERS.empty_table()
        return filter_within(pq.read_table(path, schema=LETTERS), ranges, ("partition", "offset"))

    def read(self) -> Rows:
        """Return all that it holds.

        Raises:
            OSError: A file is gone.
        """
        info, others, letters = self.info, OTHERS.empty_table(), None
        if info.counts.tombstones or info.counts.bad:
            others = pq.read_table(self.path.with_suffix(OTHER_RECORDS), schema=OTHERS)
        if self.path.with_suffix(DEAD_LETTERS).exists():
            letters = pq.read_table(self.path.with_suffix(DEAD_LETTERS), schema=LETTERS)
        epochs = {r.partition: epoch for r, epoch in info.places}
        rows = pq.ParquetFile(self.path).read()
        counts = info.counts
        return Rows(info.ranges, epochs, rows, others, letters, counts.newest_ms, counts.unmapped)


def encode_chunk(found: Rows, schema: pa.Schema) -> dict[str, pa.Buffer]:
    """Return the files of a chunk, by suffix, that holds these rows in order of partition and offset.

    Args:
        found: The rows.
        schema: Their columns, with field ids.
    """
    rows = found.rows
    order = pc.sort_indices(rows, [(PARTITION, "ascending"), (OFFSET, "ascending")])
    rows = rows.select(schema.names).take(order).cast(schema)
    info = ChunkInfo(
        found.ranges,
        tuple(found.epochs.get(r.partition, -1) for r in found.ranges),
        found.counts,
        rows.nbytes,
        frozenset(name for name in schema.names if _has_nan(rows.column(name))),
    )
    files = {ROWS: _encode(rows, {_DESCRIPTION: _describe(info)})}
    if found.others.num_rows:
        files[OTHER_RECORDS] = _encode(found.others)
    if found.letters is not None and found.letters.num_rows:
        files[DEAD_LETTERS] = _encode(found.letters)
    return files


def open_chunk(path: Path) -> Chunk:
    """Return the chunk whose file is at a path.

    Raises:
        OSError, pyarrow.ArrowException: It is gone.
        ValueError: It is no chunk.
    """
    told = pq.read_metadata(path).metadata or {}
    if _DESCRIPTION not in told:
        raise ValueError(f"{path} is no chunk")
    return Chunk(path, _parse(json.loads(told[_DESCRIPTION])))


def join_rows(parts: Sequence[Rows]) -> Rows:
    """Return neighbours as one; a partition's ranges must follow each other in the order given."""
    spans: dict[int, OffsetRange] = {}
    epochs: dict[int, int] = {}
    for part in parts:
        for each in part.ranges:
            before = spans.get(each.partition)
            assert before is None or before.end == each.start, f"{before} is not followed by {each}"
            start = each.start if before is None else before.start
            spans[each.partition] = OffsetRange(each.partition, start, each.end)
            epochs[each.partition] = part.epochs.get(each.partition, -1)
    letters = [part.letters for part in parts if part.letters is not None]
    newest = [part.newest_ms for part in parts if part.newest_ms is not None]
    return Rows(
        tuple(spans[p] for p in sorted(spans)),
        epochs,
        pa.concat_tables([part.rows for part in parts]),
        pa.concat_tables([part.others for part in parts]),
        pa.concat_tables(letters) if letters else None,
        max(newest, default=None),
        frozenset[str]().union(*(part.unmapped for part in parts)),
    )


_trimmed: Final[LruCache[tuple[Path, tuple[OffsetRange, ...]], RowCounts]] = LruCache(_TRIMMED)


def _counts_within(chunk: Chunk, ranges: tuple[OffsetRange, ...]) -> RowCounts:
    found = _trimmed.get((chunk.path, ranges))
    if found is None:
        file = pq.ParquetFile(chunk.path)
        needed = [f.name for f in (*PLACE, *FILE_MARKS) if f.name in file.schema_arrow.names]
        places = filter_within(file.read(needed), ranges)
        others = OTHERS.empty_table()
        if chunk.info.counts.tombstones or chunk.info.counts.bad:
            path = chunk.path.with_suffix(OTHER_RECORDS)
            others = filter_within(pq.read_table(path, schema=OTHERS), ranges)
        newest_ms, unmapped = newest_of(places, others), chunk.info.counts.unmapped
        found = Rows(ranges, {}, places, others, None, newest_ms, unmapped).counts
        _trimmed.put((chunk.path, ranges), found)
    return found


def _has_nan(values: pa.ChunkedArray) -> bool:
    return pa.types.is_floating(values.type) and bool(pc.any(pc.is_nan(values)).as_py())


def _encode(rows: pa.Table, told: dict[bytes, bytes] | None = None) -> pa.Buffer:
    into = pa.BufferOutputStream()
    # Small decimals are whole numbers in files, says Iceberg's specification.
    with pq.ParquetWriter(into, rows.schema, compression="zstd", store_decimal_as_integer=True) as writer:
        writer.write_table(rows, row_group_size=_GROUP_ROWS)
        writer.add_key_value_metadata(told or {})
    return into.getvalue()


def _describe(info: ChunkInfo) -> bytes:
    counts = info.counts
    told = {
        "ranges": [[r.partition, r.start, r.end] for r in info.ranges],
        "epochs": info.epochs,
        "rows": counts.rows,
        "tombstones": counts.tombstones,
        "bad": counts.bad,
        "bad_rows": counts.bad_rows,
        "first_bad": [[each.partition, each.offset, each.reason] for each in counts.first_bad],
        "newest_ms": counts.newest_ms,
        "unmapped": sorted(counts.unmapped),
        "size_bytes": info.size_bytes,
        "with_nan": sorted(info.with_nan),
    }
    return json.dumps(told).encode()


def _parse(told: Any) -> ChunkInfo:
    return ChunkInfo(
        tuple(OffsetRange(*each) for each in told["ranges"]),
        tuple(told["epochs"]),
        RowCounts(
            told["rows"],
            told["tombstones"],
            told["bad"],
            told["bad_rows"],
            tuple(BadRecord(*each) for each in told["first_bad"]),
            told["newest_ms"],
            frozenset(told["unmapped"]),
        ),
        told["size_bytes"],
        frozenset(told["with_nan"]),
    )
