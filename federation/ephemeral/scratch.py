"""The scratch space of ephemeral snapshots: where their files are, until when, and how they go again.

    <scratch>/chunks/<chunk>-<kept>.parquet               hot rows, unless engines read them in the hot store
    <scratch>/manifests/<chunk>-<digest>-<kept>.avro      one per chunk and form, shared by snapshots
    <scratch>/snapshots/<until>-<id>/chunks.txt           what the snapshot needs until then, written first
    <scratch>/snapshots/<until>-<id>/metadata/…           its list of manifests and the table's metadata

A snapshot says in its folder's name until when it may be read; nothing of it is removed before. Whoever
removes what no snapshot needs leaves alone what was written or wanted within that time, so a snapshot that is
just being made finds what it saw. All of it holds for any number of processes, killed at any instant.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow.fs

from coldset.table import filesystem_of

_CHUNKS: Final = "chunks"
_MANIFESTS: Final = "manifests"
_SNAPSHOTS: Final = "snapshots"
NEEDED: Final = "chunks.txt"
# A file that was written or wanted within this part of the time that snapshots are kept is not looked at.
_FRESH_PART: Final = 0.5


@dataclass(frozen=True, slots=True)
class Scratch:
    """A place for ephemeral snapshots that engines can read.

    Attributes:
        uri: The place, as readers are to name it; no slash at its end.
        path: The same within the file system.
        files: How it is reached.
    """

    uri: str
    path: str
    files: pyarrow.fs.FileSystem = field(repr=False)

    @property
    def is_local(self) -> bool:
        """Whether it is a folder on this machine."""
        return isinstance(self.files, pyarrow.fs.LocalFileSystem)

    def write(self, name: str, content: bytes) -> str:
        """Write a file whole or not at all, and return where readers find it.

        Raises:
            OSError: It cannot be written.
        """
        path = f"{self.path}/{name}"
        self.files.create_dir(path.rpartition("/")[0], recursive=True)
        # An object is there when it is whole; a file is renamed when it is.
        made = f"{path}.{time.time_ns():x}.making" if self.is_local else path
        with self.files.open_output_stream(made) as stream:
            stream.write(content)
        if self.is_local:
            self.files.move(made, path)
        return f"{self.uri}/{name}"

    def has_fresh(self, name: str, within_s: float) -> bool:
        """Return whether a file is there that was written or wanted within so many seconds."""
        found = self.files.get_file_info(f"{self.path}/{name}")
        return found.type is pyarrow.fs.FileType.File and _age_s(found) < within_s

    def folders(self, name: str) -> Iterator[str]:
        """Yield the names of what is in a folder; of one that is not there, nothing."""
        wanted = pyarrow.fs.FileSelector(f"{self.path}/{name}", allow_not_found=True)
        yield from (found.base_name for found in self.files.get_file_info(wanted))


def open_scratch(uri: str, io_properties: dict[str, str]) -> Scratch:
    """Return the scratch space at a location.

    Args:
        uri: A folder's path, or a URI of a file system that pyiceberg can reach.
        io_properties: pyiceberg properties for reaching it, secrets resolved.

    Raises:
        ColdsetError: There is no such file system.
    """
    uri = uri.rstrip("/")
    if "://" not in uri:
        # As it is: no reader takes back what a URI would have in the place of a blank.
        uri = f"file://{Path(uri).absolute()}"
    files, path = filesystem_of(uri, io_properties)
    return Scratch(uri, path, files)


def chunk_file(name: str, keep_ms: int) -> str:
    """Return where the copy of a chunk is in a scratch space, for snapshots that are kept so long."""
    return f"{_CHUNKS}/{name}-{keep_ms}.parquet"


def manifest_file(name: str, digest: str, keep_ms: int) -> str:
    """Return where the manifest of a chunk is, in the form that a digest tells, for such snapshots."""
    return f"{_MANIFESTS}/{name}-{digest}-{keep_ms}.avro"


def snapshot_folder(snapshot_id: int, until_ms: int) -> str:
    """Return where a snapshot that may be read until then is."""
    return f"{_SNAPSHOTS}/{until_ms}-{snapshot_id}"


def clean_scratch(scratch: Scratch) -> int:
    """Remove snapshots whose time is over, and files that no other snapshot needs; return how many are left.

    Args:
        scratch: The place.

    Raises:
        OSError: It cannot be reached.
    """
    left, needed = 0, set[str]()
    for folder in list(scratch.folders(_SNAPSHOTS)):
        until = folder.partition("-")[0]
        path = f"{scratch.path}/{_SNAPSHOTS}/{folder}"
        if until.isdecimal() and int(until) < time.time() * 1000:
            with contextlib.suppress(FileNotFoundError):
                scratch.files.delete_dir(path)
            continue
        left += 1
        with (
            contextlib.suppress(FileNotFoundError),
            scratch.files.open_input_stream(f"{path}/{NEEDED}") as file,
        ):
            needed.update(file.read().decode().splitlines())
    for kind in (_CHUNKS, _MANIFESTS):
        left += _remove_unneeded(scratch, f"{scratch.path}/{kind}", needed)
    return left


def _remove_unneeded(scratch: Scratch, path: str, needed: set[str]) -> int:
    found: Sequence[pyarrow.fs.FileInfo] = scratch.files.get_file_info(
        pyarrow.fs.FileSelector(path, allow_not_found=True)
    )
    # Names begin with that of a chunk, which has two parts, and end with how long those who use it keep it.
    old = [
        each
        for each in found
        if _age_s(each) > _keep_s(each.base_name) and _chunk_of(each.base_name) not in needed
    ]
    for each in old:
        with contextlib.suppress(FileNotFoundError):
            scratch.files.delete_file(each.path)
    return len(found) - len(old)


def fresh_s(keep_s: float) -> float:
    """Return how old a file may be that a new snapshot takes as it is; an older one is written again."""
    return keep_s * _FRESH_PART


def _chunk_of(name: str) -> str:
    return "-".join(name.partition(".")[0].split("-")[:2])


def _keep_s(name: str) -> float:
    kept = name.rpartition(".")[0].rpartition("-")[2]
    return int(kept) / 1000 if kept.isdecimal() else 0.0


def _age_s(found: pyarrow.fs.FileInfo) -> float:
    return (datetime.now(UTC) - found.mtime).total_seconds() if found.mtime is not None else 0.0
