"""What chunks, columns and logs are called: everything that makes them different is in the name.

A name is never used twice for different content, so a file that is there is right or it is not
looked at. The file is pure, and must not know where the files are.
"""

from __future__ import annotations

import functools
import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final

import pyarrow as pa

from hotset.decode import RecordFormat
from hotset.kafka import Isolation
from hotset.store.store_folder import boot_id, build_id

# Part of every log's name; to be raised when the form of the files changes.
_VERSION: Final = "2"

# The folder of all logs.
LOGS: Final = "logs"

BASE: Final = "base"
RAW: Final = "raw"
COLUMNS: Final = "columns"

_FILE: Final = re.compile(r"(\d+)-(\d+)-(\d+)-([0-9a-f]{16})\.(base|raw|columns\.[0-9a-f]{16})")

_NULLABLE: Final = True

# What becomes of a record that was decoded is asked of `RowDecoder` later, so it is not part of a column.
_POLICY: Final = frozenset({"bad_records", "skips_tombstones"})


@dataclass(frozen=True, slots=True, order=True)
class ChunkName:
    """Records of one partition that a drain gave for `[start, end)` while a leader of `epoch` led.

    `uid` tells it from a chunk of the same range that was read another time.
    """

    start: int
    end: int
    epoch: int
    uid: str

    def __str__(self) -> str:
        return f"{self.start}-{self.end}-{self.epoch}-{self.uid}"


def new_chunk(start: int, end: int, epoch: int) -> ChunkName:
    """Return a name that no chunk has had."""
    return ChunkName(start, end, epoch, secrets.token_hex(8))


def new_columns() -> str:
    """Return the kind of a new file of columns; a chunk may have several."""
    return f"{COLUMNS}.{secrets.token_hex(8)}"


@functools.lru_cache(maxsize=1 << 16)
def parse_file(name: str) -> tuple[ChunkName, str] | None:
    """Return chunk and kind of a file, or None if it is something else."""
    found = _FILE.fullmatch(name)
    if found is None:
        return None
    return ChunkName(int(found[1]), int(found[2]), int(found[3]), found[4]), found[5]


@dataclass(frozen=True, slots=True)
class LogName:
    """One incarnation of a topic, seen with one isolation.

    A topic that is made again has another id. Servers alone are no identity, and a copy of a cluster has
    the id of the original: so `cluster` has both.
    """

    cluster: str
    topic: str
    topic_id: str
    isolation: Isolation

    @property
    def family(self) -> str:
        """What all incarnations of the topic have in common."""
        return _hash(_VERSION, boot_id(), self.cluster, self.topic, self.isolation.value)

    def __str__(self) -> str:
        return f"{self.family}.{_hash(self.topic_id)}"


@functools.lru_cache(maxsize=4096)
def column_name(record_format: RecordFormat, field: pa.Field | None, beside: tuple[str, ...] = ()) -> str:
    """Return what a decoded column is called in a chunk.

    Args:
        record_format: How the records are encoded; what is policy does not count.
        field: The column, or None for the question whether a value is a record at all.
        beside: All columns, if those decide what is in one.
    """
    told = [build_id(), _canonical(record_format), _canonical(beside)]
    if field is not None:
        told += [field.name, pa.schema([field.with_nullable(_NULLABLE)]).serialize().to_pybytes().hex()]
    return _hash(*told)


def _canonical(value: Any) -> str:
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: getattr(value, f.name) for f in fields(value) if f.name not in _POLICY}
        return f"{type(value).__name__}{_canonical(parts)}"
    if isinstance(value, Mapping):
        return "{" + ",".join(sorted(f"{_canonical(k)}:{_canonical(v)}" for k, v in value.items())) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_canonical, value)) + "]"
    return f"{type(value).__name__}:{value!r}"


def _hash(*told: str) -> str:
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:16]
