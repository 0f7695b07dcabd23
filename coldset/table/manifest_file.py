"""Read manifests, and check that each is whole before its parser is let at it.

The parser of manifests trusts the lengths that a file states: of one that was
cut short it makes whatever lies behind it in memory, or a crash of the whole
process. So the frame is walked first: header, blocks, and the mark after each.
It must not know what is in the blocks. Format: Apache Avro 1.12, object
container files.
"""

from __future__ import annotations

from io import BytesIO
from typing import Final

from pyiceberg.avro.file import AvroFile
from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile
from pyiceberg.manifest import (
    MANIFEST_ENTRY_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    _inherit_from_manifest,
)
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


class WholeFiles(FileIO):
    """Hands out the content of files that are whole Avro files, each read once, from memory.

    A file that ends between two blocks is whole by this; only who knows how many
    entries it must have can tell.
    """

    def __init__(self, io: FileIO) -> None:
        super().__init__(io.properties)
        self._io = io

    def new_input(self, location: str) -> InputFile:
        """Return a file that has been read.

        Raises:
            DamagedError: It is not whole; the message says where.
            OSError: It could not be read.
        """
        with self._io.new_input(location).open() as stream:
            data = stream.read()
        try:
            _walk(_Frame(data))
        except ValueError as exc:
            raise DamagedError(f"{location} is damaged: {exc}") from exc
        return _InMemory(location, data)

    def new_output(self, location: str) -> OutputFile:
        """Refuse: what is read here is not written here.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Refuse: what is read here is not deleted here.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(location)


class _InMemory(InputFile):
    """A file whose content has been read."""

    def __init__(self, location: str, data: bytes) -> None:
        super().__init__(location)
        self._data = data

    def __len__(self) -> int:
        return len(self._data)

    def exists(self) -> bool:
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002, FBT001, FBT002 - pyiceberg's face
        return BytesIO(self._data)


def manifests_of(snapshot: Snapshot, io: FileIO) -> list[ManifestFile]:
    """Return a snapshot's manifests, from a list that is whole.

    Raises:
        DamagedError: The list is not.
        Exception: The reader's own, whatever it stumbles over.
    """
    return snapshot.manifests(WholeFiles(io))


def entries_of(manifest: ManifestFile, io: FileIO, *, discard_deleted: bool) -> list[ManifestEntry]:
    """Return a manifest's entries, if the file is whole, with all fields that any format version has.

    Raises:
        DamagedError: It is not.
        Exception: The reader's own, whatever it stumbles over.
    """
    # pyiceberg's own way reads the fields of format version 2, and leaves out where deletion vectors are.
    with AvroFile[ManifestEntry](
        WholeFiles(io).new_input(manifest.manifest_path),
        MANIFEST_ENTRY_SCHEMAS[3],
        read_types={-1: ManifestEntry, 2: DataFile},
        read_enums={0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
    ) as reader:
        return [
            _inherit_from_manifest(entry, manifest)
            for entry in reader
            if not (discard_deleted and entry.status == ManifestEntryStatus.DELETED)
        ]


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
