"""Arrow files that are there whole or not at all, and the maps of them that this process has open.

A file is written under another name and renamed, so whoever ends a process at any instant leaves no
torn one; a file says in itself which one it is, and is checked when it is first mapped. Maps outlive
the removal of their file for as long as somebody has rows of it. This file must not know records.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from hotset.store.place import make_folder
from hotset.store.space import Space

_KEY: Final = b"kafkaiceberg.chunk"
_MAPS: Final = 8192
_TOUCH_S: Final = 5.0
_LOOK_S: Final = 1.0


@dataclass(slots=True)
class Mapped:
    """A file as a record batch whose buffers are the file, and what it says of itself."""

    batch: pa.RecordBatch
    notes: Mapping[str, Any]
    touched_s: float = 0.0


def write_file(
    space: Space, path: Path, batch: pa.RecordBatch, notes: Mapping[str, Any], keep: Collection[str] = ()
) -> bool:
    """Let a file appear with this content; return whether there was room.

    Args:
        space: Whose bytes it takes.
        path: Its name, which no other file has had.
        batch: Its rows.
        notes: What it says of itself, as JSON has it.
        keep: Chunks that must not be evicted for it.

    Raises:
        Nothing of its own: a store that cannot be written to has no room.
    """
    told = json.dumps({**notes, "file": path.name, "rows": batch.num_rows}).encode()
    schema = batch.schema.with_metadata({_KEY: told})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(batch.replace_schema_metadata(schema.metadata))
    content = memoryview(sink.getvalue())
    try:
        made = space.reserve(len(content), keep)
        if made is None:
            return False
        making, file = made
        try:
            written = 0
            while written < len(content):
                written += os.pwrite(file, content[written:], written)
            _rename(making, path)
        except OSError:
            making.unlink(missing_ok=True)
            raise
        finally:
            os.close(file)
    except OSError:
        return False
    return True


def _rename(made: Path, path: Path) -> None:
    try:
        made.rename(path)
    except FileNotFoundError:
        make_folder(path.parent)
        made.rename(path)


class Maps:
    """The files that this process has mapped, the latest used of them."""

    def __init__(self) -> None:
        self._open: OrderedDict[Path, Mapped] = OrderedDict()
        self._lock = threading.Lock()
        self._looked_s = time.monotonic()

    def get(self, path: Path, *, is_used: bool = True) -> Mapped | None:
        """Return a file's content, or None if it is not there or is not what its name says.

        Args:
            path: The file.
            is_used: Whether this counts as use, which keeps it from being evicted.

        Raises:
            Nothing of its own.
        """
        with self._lock:
            found = self._open.get(path)
            if found is not None:
                self._open.move_to_end(path)
        if found is None:
            found = _map(path)
            if found is None:
                return None
            with self._lock:
                found = self._open.setdefault(path, found)
                while len(self._open) > _MAPS:
                    self._open.popitem(last=False)
        now_s = time.monotonic()
        if is_used and now_s - found.touched_s > _TOUCH_S:
            found.touched_s = now_s
            with contextlib.suppress(OSError):
                os.utime(path)
        return found

    def forget_removed(self) -> None:
        """Let go of files that others have removed, so that their memory is free; looks once a second.

        Raises:
            Nothing of its own.
        """
        now_s = time.monotonic()
        with self._lock:
            if now_s - self._looked_s < _LOOK_S:
                return
            self._looked_s = now_s
            paths = list(self._open)
        gone = [path for path in paths if not path.exists()]
        with self._lock:
            for path in gone:
                self._open.pop(path, None)


def _map(path: Path) -> Mapped | None:
    try:
        with pa.memory_map(str(path)) as source:
            content = source.read_buffer()
        # Of a buffer, and not of a file: a file is read by another thread, which has to be woken first.
        reader = pa.ipc.open_file(content)
        notes = json.loads((reader.schema.metadata or {})[_KEY])
        batch = reader.get_batch(0)
        batch.validate()
        if notes["file"] == path.name and notes["rows"] == batch.num_rows:
            return Mapped(batch.replace_schema_metadata(None), notes)
    except FileNotFoundError:
        return None
    except (OSError, LookupError, ValueError, pa.ArrowException):
        pass
    # It is not what it should be, and no name is used again.
    with contextlib.suppress(OSError):
        path.unlink()
    return None
