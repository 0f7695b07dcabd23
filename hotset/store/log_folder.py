"""The folder of one log in the store: its chunks, and how chunks come and go.

A log is one incarnation of a topic, seen with one isolation, whose records become rows in one way. All that
is in the folder's name, so what does not match is not found. A chunk is named by the time it was made and a
random number, never twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from foundation.lru import LruCache
from hotset.store.chunk import ROWS, Chunk, ChunkInfo, encode_chunk, open_chunk
from hotset.store.hot_rows import Rows
from hotset.store.row_source import RowSource
from hotset.store.space import Space
from hotset.store.store_folder import boot_id, build_id

# Part of every log's name; to be raised when the form of the files changes.
_VERSION: Final = "4"
LOGS: Final = "logs"
_INFOS: Final = 100_000
# So fresh a time of use says enough.
_USED_S: Final = 10.0

_infos: Final[LruCache[Path, ChunkInfo]] = LruCache(_INFOS)


@dataclass(frozen=True, slots=True)
class LogFolder:
    """Where the chunks of a log are. There need not be any, nor a folder."""

    space: Space
    path: Path

    def chunks(self) -> list[Chunk]:
        """Return the chunks that are there, the oldest first."""
        try:
            names = sorted(os.listdir(self.path))
        except OSError:
            return []
        found = [_opened(self.path / name) for name in names if name.endswith(ROWS)]
        return [chunk for chunk in found if chunk is not None]

    def add(self, rows: Rows, schema: pa.Schema, *, after: Chunk | None = None) -> Chunk | None:
        """Write rows as a chunk and return it; None if there is no room.

        Args:
            rows: The rows.
            schema: Their columns, with field ids.
            after: The chunk in whose place among the others it is; None if it is the newest.

        Raises:
            OSError: The folder is full, or cannot be written.
        """
        files = encode_chunk(rows, schema)
        place = f"{time.time_ns():016x}" if after is None else after.path.name.partition("-")[0]
        stem = f"{place}-{secrets.token_hex(8)}"
        # The rows come last: without them the other files are nobody's.
        written = {
            self.path / f"{stem}{suffix}": files[suffix] for suffix in sorted(files, key=lambda s: s == ROWS)
        }
        return open_chunk(self.path / f"{stem}{ROWS}") if self.space.write(written) else None

    def use(self, chunks: Sequence[Chunk]) -> None:
        """Take note that chunks are read now."""
        for chunk in chunks:
            with contextlib.suppress(OSError):
                if time.time() - chunk.path.stat().st_mtime > _USED_S:
                    os.utime(chunk.path)

    def unused_s(self, chunk: Chunk) -> float:
        """Return for how many seconds nobody has read a chunk."""
        try:
            return time.time() - chunk.path.stat().st_mtime
        except OSError:
            return 0.0

    def remove(self, chunk: Chunk) -> None:
        """Remove a chunk, its rows first."""
        with contextlib.suppress(OSError):
            for path in chunk.files:
                path.unlink(missing_ok=True)
        _infos.forget(chunk.path)


def log_name(source: RowSource, cluster: str) -> tuple[str, str]:
    """Return what all incarnations of a source's topic have in common, and what tells this log.

    Args:
        source: The topic, and how its records become rows.
        cluster: Tells the cluster from others.
    """
    family = _hash(
        _VERSION, boot_id(), cluster, source.topic, source.isolation.value, build_id(), source.definition
    )
    return family, f"{family}.{_hash(source.topic_id)}"


def _opened(path: Path) -> Chunk | None:
    info = _infos.get(path)
    if info is None:
        try:
            info = open_chunk(path).info
        except (OSError, ValueError, pa.ArrowException):
            return None  # it is gone, or somebody else's
        _infos.put(path, info)
    return Chunk(path, info)


def _hash(*told: str) -> str:
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:16]
