"""Check that a manifest is whole before its reader is let at it.

The reader of manifests trusts the lengths that a file states: of one that was
cut short it makes whatever lies behind it in memory, or a crash of the whole
process. So the frame is walked first: header, blocks, and the mark after each.
It must not know what is in the blocks. Format: Apache Avro 1.12, object
container files.
"""

from __future__ import annotations

from typing import Final

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestEntry, ManifestFile
from pyiceberg.table.snapshots import Snapshot

_MAGIC: Final = b"Obj\x01"
_MARK_BYTES: Final = 16
_LONGEST: Final = 10


class DamagedError(ValueError):
    """A file is not what was written."""


class _Frame:
    """A place in the bytes of a file, which never passes their end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def is_at_end(self) -> bool:
        return self.at == len(self.data)

    def take(self, length: int) -> bytes:
        if not 0 <= length <= len(self.data) - self.at:
            raise ValueError(f"it ends {len(self.data)} bytes in, where {length} more were to come")
        self.at += length
        return self.data[self.at - length : self.at]

    def long(self) -> int:
        value = 0
        for index in range(_LONGEST):
            [byte] = self.take(1)
            value |= (byte & 0x7F) << (7 * index)
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
        raise ValueError(f"no number ends {self.at} bytes in")

    def skip_entries(self) -> None:
        while count := self.long():
            if count < 0:
                self.long()  # the block's size in bytes, which a negative count announces
            for _ in range(2 * abs(count)):
                self.take(self.long())


def manifests_of(snapshot: Snapshot, io: FileIO) -> list[ManifestFile]:
    """Return a snapshot's manifests, from a list that is whole.

    Raises:
        DamagedError: The list is not.
        Exception: The reader's own, whatever it stumbles over.
    """
    require_whole(io, snapshot.manifest_list)
    return snapshot.manifests(io)


def entries_of(manifest: ManifestFile, io: FileIO, *, discard_deleted: bool) -> list[ManifestEntry]:
    """Return a manifest's entries, if the file is whole.

    Raises:
        DamagedError: It is not.
        Exception: The reader's own, whatever it stumbles over.
    """
    require_whole(io, manifest.manifest_path)
    return manifest.fetch_manifest_entry(io, discard_deleted=discard_deleted)


def require_whole(io: FileIO, path: str) -> None:
    """Raise unless a file is an Avro file from its header to the mark of its last block.

    A file that ends between two blocks is whole by this; only who knows how many
    entries it must have can tell.

    Raises:
        DamagedError: It is not; the message says where.
        OSError: It could not be read.
    """
    with io.new_input(path).open() as stream:
        data = stream.read()
    try:
        _walk(_Frame(data))
    except ValueError as exc:
        raise DamagedError(f"{path} is damaged: {exc}") from exc


def _walk(frame: _Frame) -> None:
    if frame.take(len(_MAGIC)) != _MAGIC:
        raise ValueError("it is no Avro file")
    frame.skip_entries()
    mark = frame.take(_MARK_BYTES)
    while not frame.is_at_end:
        frame.long()  # entries
        frame.take(frame.long())
        if frame.take(_MARK_BYTES) != mark:
            raise ValueError(f"the block before byte {frame.at} is damaged")
