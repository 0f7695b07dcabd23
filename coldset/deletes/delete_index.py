"""Which deletes apply to which data file: the rules of the Iceberg specification, and nothing else.

A position delete hides rows of data that is as old or older; a delete by key
only of data that is older, so that a row may be deleted and written again in
one commit. Both reach no further than their partition, but for deletes by key
without any partition, which reach everything. A deletion vector stands for
all position deletes of its data file. Pure; the rows of a delete file are not
looked at here.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyiceberg.manifest import DataFile, DataFileContent, ManifestEntry
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.transforms import VoidTransform

from coldset.files import ColdFile, DeleteFile

# Ids of the columns of a file of position deletes, from the specification.
DELETED_PATH: Final = 2147483546
DELETED_POSITION: Final = 2147483545

# Places in pyiceberg's record of a data file, which has no names for them.
_REFERENCED, _START, _LENGTH = 17, 18, 19


@dataclass(slots=True)
class _BySequence:
    """Delete files with their sequence numbers, those from some number on."""

    numbers: list[int]
    files: list[tuple[DeleteFile, DataFile]]

    def since(self, number: int) -> list[tuple[DeleteFile, DataFile]]:
        return self.files[bisect_left(self.numbers, number) :]


Place = tuple[int, tuple[Any, ...]]


class DeleteIndex:
    """All deletes of a snapshot, by where they apply."""

    def __init__(self, entries: Iterable[ManifestEntry], specs: Mapping[int, PartitionSpec]) -> None:
        """Take in the live entries of all delete manifests.

        Raises:
            ValueError: A data file has two deletion vectors.
        """
        positions: dict[Place, list[ManifestEntry]] = defaultdict(list)
        by_path: dict[str, list[ManifestEntry]] = defaultdict(list)
        keys: dict[Place, list[ManifestEntry]] = defaultdict(list)
        everywhere: list[ManifestEntry] = []
        self._vectors: dict[str, tuple[int, DeleteFile]] = {}
        for entry in entries:
            file = entry.data_file
            place = (file.spec_id, partition_of(file))
            if file.content == DataFileContent.EQUALITY_DELETES:
                (everywhere if _is_unpartitioned(specs[file.spec_id]) else keys[place]).append(entry)
            elif file[_START] is not None:
                self._add_vector(entry)
            elif (only := _only_path(file)) is not None:
                by_path[only].append(entry)
            else:
                positions[place].append(entry)
        self._positions = {place: _sorted(found) for place, found in positions.items()}
        self._by_path = {path: _sorted(found) for path, found in by_path.items()}
        self._keys = {place: _sorted(found) for place, found in keys.items()}
        self._everywhere = _sorted(everywhere)

    def for_file(self, file: DataFile, number: int) -> tuple[DeleteFile, ...]:
        """Return the deletes that apply to a data file.

        Args:
            file: The data file.
            number: Its data sequence number.

        Raises:
            ValueError: A delete names the file and is filed under another partition.
        """
        place = (file.spec_id, partition_of(file))
        by_key = self._everywhere.since(number + 1)
        if place in self._keys:
            by_key = by_key + self._keys[place].since(number + 1)
        return (*self._for_positions(file, number, place), *(delete for delete, _ in by_key))

    def _for_positions(self, file: DataFile, number: int, place: Place) -> tuple[DeleteFile, ...]:
        path = file.file_path
        vector = self._vectors.get(path)
        if vector is not None and vector[0] >= number:
            return (vector[1],)
        found = self._by_path[path].since(number) if path in self._by_path else []
        for delete, _ in found:
            if delete.spec_id == place[0] and delete.partition != place[1]:
                # Other readers refuse it, too: who filed it so meant another file, or filed it wrongly.
                raise ValueError(
                    f"{delete.path} deletes rows of {path} by position, and is filed under another partition"
                )
        if place in self._positions:
            near = self._positions[place].since(number)
            found = found + [each for each in near if _may_name(each[1], path)]
        return tuple(delete for delete, _ in found)

    def _add_vector(self, entry: ManifestEntry) -> None:
        path = entry.data_file[_REFERENCED]
        if path is None or path in self._vectors:
            raise ValueError(f"data file {path} has two deletion vectors, or one has no data file")
        self._vectors[path] = (entry.sequence_number or 0, _delete_file(entry.data_file))


def cold_file(file: DataFile, deletes: tuple[DeleteFile, ...] = ()) -> ColdFile:
    """Return the value for a data file of a manifest."""
    return ColdFile(
        path=file.file_path,
        file_format=_format(file),
        size_bytes=file.file_size_in_bytes,
        rows=file.record_count,
        spec_id=file.spec_id,
        partition=partition_of(file),
        deletes=deletes,
    )


def partition_of(file: DataFile) -> tuple[Any, ...]:
    """Return a file's partition values, such that equal ones are equal."""
    values = (file.partition[i] for i in range(len(file.partition)))
    return tuple(_NAN if isinstance(v, float) and math.isnan(v) else v for v in values)


# One object, which equals itself as the key of a dictionary.
_NAN: Final = float("nan")


def _delete_file(file: DataFile) -> DeleteFile:
    return DeleteFile(
        path=file.file_path,
        file_format=_format(file),
        size_bytes=file.file_size_in_bytes,
        rows=file.record_count,
        spec_id=file.spec_id,
        partition=partition_of(file),
        keys=tuple(file.equality_ids or ()),
        start=file[_START],
        length=file[_LENGTH],
    )


def _format(file: DataFile) -> str:
    return str(file.file_format).rpartition(".")[2].lower()


def _sorted(entries: list[ManifestEntry]) -> _BySequence:
    entries = sorted(entries, key=lambda entry: entry.sequence_number or 0)
    return _BySequence(
        [entry.sequence_number or 0 for entry in entries],
        [(_delete_file(entry.data_file), entry.data_file) for entry in entries],
    )


def _is_unpartitioned(spec: PartitionSpec) -> bool:
    return all(isinstance(field.transform, VoidTransform) for field in spec.fields)


def _only_path(file: DataFile) -> str | None:
    """Return the one data file that a file of position deletes is about, if it says so."""
    if file[_REFERENCED] is not None:
        return str(file[_REFERENCED])
    low, high = _path_bounds(file)
    return low.decode() if low is not None and low == high else None


def _may_name(file: DataFile, path: str) -> bool:
    low, high = _path_bounds(file)
    return (low is None or low <= path.encode()) and (high is None or path.encode() <= high)


def _path_bounds(file: DataFile) -> tuple[bytes | None, bytes | None]:
    return (file.lower_bounds or {}).get(DELETED_PATH), (file.upper_bounds or {}).get(DELETED_PATH)
