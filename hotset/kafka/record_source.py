"""What a drain takes records from, and the form in which it hands them out.

Two sources have one face: `python_source` makes a Python object of each record, `native_source` does not.
A source gathers records of ranges and reports everything else; it must not know when a range is done or what
an error means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import pyarrow as pa
from confluent_kafka import KafkaError

from hotset.kafka.offsets import Isolation, OffsetRange

_LARGEST_CHUNK: Final = 512 * 1024 * 1024  # Arrow's offsets within a chunk have 32 bits
_MOST_AHEAD_BYTES: Final = 1024 * 1024 * 1024  # librdkafka takes no settings much above these
_MOST_AHEAD_ROWS: Final = 1_000_000
_SMALLEST_PIECE: Final = 64 * 1024
_LARGEST_PIECE: Final = 512 * 1024  # compressed records unfold to many times of it
_RECORD_COST: Final = 512  # about what librdkafka keeps of a record beside its bytes

RAW_SCHEMA: Final = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp_ms", pa.int64(), nullable=False),
        pa.field("value", pa.binary()),
    ]
)
_HEADER: Final = pa.struct([pa.field("key", pa.string(), nullable=False), ("value", pa.binary())])
HEADERS_TYPE: Final = pa.list_(pa.field("element", _HEADER, nullable=False))
_KEY: Final = (pa.field("key", pa.binary()),)
_HEADERS: Final = (
    # As the protocol numbers them: 0 for the producer's time, 1 for the broker's.
    pa.field("timestamp_type", pa.int32()),
    pa.field("headers", HEADERS_TYPE, nullable=False),
)


@dataclass(frozen=True, slots=True)
class DrainLimits:
    """Bounds of one drain.

    Attributes:
        chunk_rows: Records per chunk handed out, at most.
        memory_bytes: Bytes a drain holds at a time, at most: what was fetched ahead, the chunks that are
            gathered, the one handed out before them, and what becomes of it. A record larger than
            `chunk_bytes` comes on top.
        no_progress_ms: Longest wait without any position moving.
        lanes: How many sources share the memory.
    """

    chunk_rows: int = 32768
    memory_bytes: int = 64 * 1024 * 1024
    no_progress_ms: int = 30_000
    lanes: int = 1

    @property
    def chunk_bytes(self) -> int:
        """Bytes of values, keys and headers per chunk, at most.

        A chunk of each lane and the one handed out are a quarter of the memory.
        """
        return min(max(1, self.memory_bytes // (4 * (self.lanes + 1))), _LARGEST_CHUNK)

    @property
    def ahead_bytes(self) -> int:
        """Bytes fetched ahead, at which fetching pauses; one answer, which may come then, has no more."""
        return min(max(1024, self.memory_bytes // (8 * self.lanes)), _MOST_AHEAD_BYTES)

    @property
    def ahead_rows(self) -> int:
        """Records fetched ahead, at which fetching pauses."""
        return min(max(1, self.memory_bytes // (8 * self.lanes) // _RECORD_COST), _MOST_AHEAD_ROWS)

    def piece_bytes(self, partitions: int) -> int:
        """Return how much of each partition one answer may have: all of it is a part of `ahead_bytes`."""
        return min(max(self.ahead_bytes // (4 * max(1, partitions)), _SMALLEST_PIECE), _LARGEST_PIECE)


DEFAULT_LIMITS: Final = DrainLimits()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be read: at most one range per partition, in their order, none of them empty.

    Attributes:
        topic: Topic name.
        ranges: The offsets.
        isolation: Which transactional records are visible.
        limits: Sizes of chunks.
        leader_epoch: Partition to epoch of the leader when the ranges were planned, where known.
        has_keys: Whether the batches have keys.
        has_headers: Whether they have headers and timestamp types.
        identity: The topic's, if it will be read again soon, so that the handle is worth keeping.
    """

    topic: str
    ranges: tuple[OffsetRange, ...]
    isolation: Isolation
    limits: DrainLimits
    leader_epoch: Mapping[int, int] = field(default_factory=dict)
    has_keys: bool = False
    has_headers: bool = False
    identity: str | None = None

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches."""
        extra = (*(_KEY if self.has_keys else ()), *(_HEADERS if self.has_headers else ()))
        return pa.schema([*RAW_SCHEMA, *extra])


@dataclass(frozen=True, slots=True)
class Event:
    """What is no record of a range: an error, the end of the log, or a record that came again (no error)."""

    partition: int
    offset: int
    error: KafkaError | None


@dataclass(frozen=True, slots=True)
class Arrived:
    """What one wait has brought, beside the records that were gathered.

    Attributes:
        next_offsets: Partition and the offset after its last record, of those that moved at least.
        events: What was no record, in order.
        is_full: Whether no more may be gathered before `hand_out`.
        has_more: Whether more may be there already, so that positions are ahead of what was gathered.
    """

    next_offsets: Iterable[tuple[int, int]] = ()
    events: Iterable[Event] = ()
    is_full: bool = False
    has_more: bool = False


class RecordSource(Protocol):
    """Fetches ranges and gathers their records into columns, within the limits of a chunk.

    Invariant: what is fetched and not gathered is kept for later, and no wait is longer than was said.
    """

    @property
    def rows(self) -> int:
        """Records gathered since the last `hand_out`."""

    def take(self, wait_s: float) -> Arrived:
        """Gather what is there; wait for it, so long at most, if nothing is."""

    def positions(self, partitions: Iterable[int]) -> Iterable[tuple[int, int]]:
        """Return where fetching stands, behind what is never delivered too; below 0 if it does not say."""

    def pass_over(self, partition: int, next_offset: int) -> None:
        """Want nothing of a partition below an offset any more."""

    def leave(self, partition: int) -> None:
        """Fetch no more of a partition."""

    def hand_out(self) -> pa.RecordBatch:
        """Return the gathered records, and gather anew."""

    def close(self, *, is_done: bool = False) -> None:
        """Give back connections and memory; if all ranges were read, the handle may be kept."""
