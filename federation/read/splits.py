"""Units of reading: picklable, self-sufficient, without secrets.

A split may be read anywhere and any number of times with the same result. It
holds references to secrets, which are resolved where it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from coldset.plan import ColdTask
from federation.options import Part
from hotset.decode import RecordFormat, Source
from hotset.kafka import Isolation, OffsetRange
from hotset.store import StoreSettings


@dataclass(frozen=True, slots=True)
class HotSplit:
    """Ranges of a topic, at most one per partition, to be read as rows.

    Invariant: no range is empty. Reading it ends with an error above `max_bytes` of record values, and holds
    `drain_bytes` of raw records at a time.

    Attributes:
        starts: Where the cut's ranges begin, of which these may be parts.
        kafka_columns: What fills the columns that hold coordinates of records, for all such columns.
        part: What is wanted of the records.
        schema: The columns of `part` that are wanted.
        whole: All columns of the table.
        filled: Those that records fill, by which they are judged, as a file has them.
    """

    table: str
    topic: str
    topic_id: str
    isolation: Isolation
    ranges: tuple[OffsetRange, ...]
    starts: Mapping[int, int]
    leader_epoch: Mapping[int, int]
    record_format: RecordFormat
    kafka_columns: Mapping[str, Source]
    part: Part
    schema: pa.Schema = field(repr=False)
    whole: pa.Schema = field(repr=False)
    filled: pa.Schema = field(repr=False)
    kafka_properties: Mapping[str, str] = field(repr=False)
    read_timeout_ms: int
    no_progress_timeout_ms: int
    max_bytes: int | None
    drain_bytes: int
    store: StoreSettings | None


@dataclass(frozen=True, slots=True)
class ColdSplit:
    """Data files of a snapshot, to be read as rows of the answer's schema.

    Invariant: `columns` are those of the schema that the table has; the others are null.
    """

    task: ColdTask
    columns: tuple[str, ...]
    schema: pa.Schema = field(repr=False)
    catalog_name: str
    catalog_properties: Mapping[str, str] = field(repr=False)


Split = HotSplit | ColdSplit


def select_columns(split: Split, columns: Sequence[str]) -> Split:
    """Return the split reading only these of its columns, in this order.

    Raises:
        KeyError: The split does not read such a column.
    """
    schema = pa.schema([split.schema.field(name) for name in columns])
    if isinstance(split, ColdSplit):
        held = set(split.columns)
        return replace(split, columns=tuple(name for name in columns if name in held), schema=schema)
    return replace(split, schema=schema)
