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
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from hotset.store.offset_locks import close_own
from hotset.store.space import Space
from hotset.store.store_folder import make_folder

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


class File(NamedTuple):
    """A file that is to be: a name that no other has had, rows, and what it says of itself in JSON."""

    path: Path
    batch: pa.RecordBatch
    notes: Mapping[str, Any]


def write_files(space: Space, files: Sequence[File], keep: Collection[str] = ()) -> bool:
    """Let files appear, one after the other; return whether there was room.

    Args:
        space: Whose bytes they take; reserved at once, as all of it is in memory at once.
        files: What is to be written.
        keep: Chunks that must not be evicted for it.

    A store that cannot be written to has no room.
    """
    contents = [memoryview(_content(file)) for file in files]
    try:
        made = space.reserve([len(content) for content in contents], keep)
        if made is None:
            return False
        try:
            for file, content, (making, opened) in zip(files, contents, made, strict=True):
                written = 0
                while written < len(content):
                    written += os.pwrite(opened, content[written:], written)
                _rename(making, file.path)
        except OSError:
            for making, _ in made:
                making.unlink(missing_ok=True)
            raise
        finally:
            for _, opened in made:
                close_own(opened)
    except OSError:
        return False
    return True


def _content(file: File) -> pa.Buffer:
    told = json.dumps({**file.notes, "file": file.path.name, "rows": file.batch.num_rows}).encode()
    schema = file.batch.schema.with_metadata({_KEY: told})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(file.batch.replace_schema_metadata(schema.metadata))
    return sink.getvalue()


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
        """Let go of files that others have removed, so that their memory is free; looks once a second."""
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
