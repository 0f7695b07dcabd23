"""Find the files of a Flink checkpoint or savepoint, and say whose they are.

A `_metadata` file holds the number of its checkpoint and not the id of its job, so
the job is known by the path: Flink keeps checkpoints in `<job id>/chk-<number>`, and
names a savepoint `savepoint-<first six of the job id>-<random>`. A live job deletes
checkpoints at any time. It must not know what the state means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import pyarrow.fs as pafs

from federation.boundary.flink.checkpoint_metadata import Metadata, parse_metadata
from federation.boundary.flink.state_bytes import MalformedStateError
from federation.boundary.flink.state_handles import StatePlace
from federation.errors import BoundaryUnknownError

_NAME: Final = "_metadata"
_LARGEST_BYTES: Final = 256 * 1024 * 1024


class CheckpointGoneError(Exception):
    """No folder holds the checkpoint; Flink may have deleted it a moment ago."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint's metadata, and where the state beside it is to be looked for."""

    folder: str
    job_id: str
    metadata: Metadata
    filesystem: pafs.FileSystem
    path: str

    def load(self, place: StatePlace) -> bytes:
        """Return the bytes of a state.

        Raises:
            CheckpointGoneError: Its file is not there.
            MalformedStateError: Its file is shorter than announced, or unreasonably large.
        """
        if place.inline is not None:
            return place.inline
        try:
            for filesystem, path in self._places(place):
                try:
                    return _read(filesystem, path, place.start, place.size_bytes)
                except FileNotFoundError:
                    continue
        except (OSError, ValueError) as exc:
            raise MalformedStateError(f"state file {place.path!r} cannot be read: {exc}") from exc
        raise CheckpointGoneError(f"state file {place.path!r} of {self.folder} is not there")

    def _places(self, place: StatePlace) -> Iterator[tuple[pafs.FileSystem, str]]:
        if ".." in place.path.split("/"):
            raise MalformedStateError(f"state file {place.path!r} is outside of its folder")
        if place.is_relative:
            yield self.filesystem, f"{self.path}/{place.path}"
            return
        # The folder may have been moved or be mounted elsewhere; names of state files are unique.
        yield self.filesystem, f"{self.path}/{place.path.rpartition('/')[2]}"
        _, found, within = place.path.partition(f"/{self.job_id}/")
        if found and self.path.endswith(f"/{self.job_id}/chk-{self.metadata.checkpoint_id}"):
            yield self.filesystem, f"{self.path.rpartition('/')[0]}/{within}"
        yield _open(place.path)


def find_checkpoint(locations: Sequence[str], job_id: str, checkpoint_id: int) -> Checkpoint:
    """Return a checkpoint of a job.

    Args:
        locations: Folders: of checkpoints, of savepoints, or one of either itself.
        job_id: The job, as 32 hexadecimal digits.
        checkpoint_id: The checkpoint's number.

    Raises:
        CheckpointGoneError: None of the folders has it; the message says what they have.
        MalformedStateError: It cannot be understood.
        BoundaryUnknownError: A location cannot be read at all.
    """
    seen: set[str] = set()
    missing: list[str] = []
    for location in locations:
        try:
            filesystem, root = _open(location)
            if filesystem.get_file_info(root).type == pafs.FileType.NotFound:
                missing.append(location)
                continue
            for path in _folders(filesystem, root, job_id, checkpoint_id, seen):
                try:
                    metadata = _parse(filesystem, f"{path}/{_NAME}")
                except FileNotFoundError:
                    continue
                if metadata.checkpoint_id == checkpoint_id:
                    return Checkpoint(path, job_id, metadata, filesystem, path)
                seen.add(f"{path.rpartition('/')[2]} (number {metadata.checkpoint_id})")
        except (OSError, ValueError) as exc:
            if isinstance(exc, MalformedStateError):
                raise
            raise BoundaryUnknownError(
                f"Flink checkpoints cannot be read from {location}: {exc}; correct checkpointLocation",
                location=location,
            ) from exc
    there = f"there are {', '.join(sorted(seen))}" if seen else "nothing of this job is there"
    if missing:
        there = f"no folder {' or '.join(missing)} can be seen from here" + (f"; {there}" if seen else "")
    raise CheckpointGoneError(f"not in {', '.join(locations) or 'any folder'}; {there}")


def find_later(locations: Sequence[str], job_id: str, checkpoint_id: int) -> list[Checkpoint]:
    """Return the checkpoints of a job with a higher number that can be read, lowest first."""
    found: dict[int, Checkpoint] = {}
    for location in locations:
        try:
            filesystem, root = _open(location)
            seen: set[str] = set()
            paths = list(_folders(filesystem, root, job_id, checkpoint_id, seen))
            jobs = root if root.endswith(f"/{job_id}") else f"{root}/{job_id}"
            paths += [f"{jobs}/{name}" for name in seen if int(name.removeprefix("chk-")) > checkpoint_id]
            if re.search(rf"/{job_id}/chk-\d+$", root):
                paths.append(root)
            for path in paths:
                with suppress(FileNotFoundError, MalformedStateError):
                    metadata = _parse(filesystem, f"{path}/{_NAME}")
                    found[metadata.checkpoint_id] = Checkpoint(path, job_id, metadata, filesystem, path)
        except (OSError, ValueError):
            continue  # reported when the checkpoint itself was looked for
    return [found[number] for number in sorted(found) if number > checkpoint_id]


def _folders(
    filesystem: pafs.FileSystem, root: str, job_id: str, checkpoint_id: int, seen: set[str]
) -> Iterator[str]:
    checkpoint, savepoint = f"chk-{checkpoint_id}", f"savepoint-{job_id[:6]}-"
    parts = root.split("/")
    if parts[-1].startswith(savepoint) or parts[-2:] == [job_id, checkpoint]:
        yield root
    jobs = root if parts[-1] == job_id else f"{root}/{job_id}"
    yield f"{jobs}/{checkpoint}"
    for folder in (root, jobs):
        for info in filesystem.get_file_info(pafs.FileSelector(folder, allow_not_found=True)):
            name = info.base_name
            if folder == root and name.startswith(savepoint):
                yield info.path
            elif folder == jobs and re.fullmatch(r"chk-\d+", name):
                seen.add(name)


def _parse(filesystem: pafs.FileSystem, path: str) -> Metadata:
    size = filesystem.get_file_info(path).size
    try:
        return parse_metadata(_read(filesystem, path, 0, size))
    except MalformedStateError as exc:
        raise MalformedStateError(f"{path} is not understood: {exc}") from exc


def _read(filesystem: pafs.FileSystem, path: str, start: int, size: int | None) -> bytes:
    if size is None or filesystem.get_file_info(path).type != pafs.FileType.File:
        raise FileNotFoundError(path)
    if not 0 <= size <= _LARGEST_BYTES or start < 0:
        raise MalformedStateError(
            f"{path} holds {size} bytes from byte {start}, and {_LARGEST_BYTES} are read at most"
        )
    with filesystem.open_input_file(path) as file:
        content: bytes = file.read_at(min(size, max(file.size() - start, 0)), start)
    if len(content) != size:
        raise MalformedStateError(f"{path} ends after {len(content)} of {size} bytes")
    return content


def _open(location: str) -> tuple[pafs.FileSystem, str]:
    if location.startswith("file:"):
        location = "/" + location.removeprefix("file:").lstrip("/")
    if location.startswith(("s3a://", "s3n://")):
        location = f"s3{location[3:]}"
    filesystem, path = (
        pafs.FileSystem.from_uri(location) if "://" in location else (pafs.LocalFileSystem(), location)
    )
    return filesystem, path.rstrip("/")
