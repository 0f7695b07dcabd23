"""What the metadata of a table says of its columns: in manifests, in their list, and in partitions.

Columns are found by id, in the schema that an answer has, so that a name that
was given to another column says nothing of this one. A column whose type has
not always been of one family is not known at all, because a bound does not say
which type it was written as. No file is opened here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from pyiceberg.conversions import from_bytes
from pyiceberg.manifest import DataFile, ManifestFile
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    PrimitiveType,
)

from coldset.prune.column_facts import UNKNOWN, Fact, decoded, of_partition, of_summary
from coldset.table import PinnedTable
from foundation.lru import LruCache

_FACTS_KEPT: Final = 1_000_000
_FLOATS: Final = (FloatType, DoubleType)

ColumnKey = tuple[int, str]
_FactsKey = tuple[str, int, ColumnKey]
_kept: Final[LruCache[_FactsKey, tuple[Fact, ...]]] = LruCache(_FACTS_KEPT, lambda found: len(found) + 1)


def known_field(pinned: PinnedTable, name: str) -> NestedField | None:
    """Return the column of the answer's schema with a name, if metadata can say something of it."""
    found = next((each for each in pinned.schema.fields if each.name == name), None)
    if found is None or not found.field_type.is_primitive:
        return None
    kinds = [_type_of(schema.fields, found.field_id) for schema in pinned.table.metadata.schemas]
    is_one_family = all(kind is None or _is_alike(kind, found.field_type) for kind in kinds)
    return found if is_one_family else None


def column_key(field: NestedField) -> ColumnKey:
    """Return what tells a column from any other, and from itself under another type."""
    return field.field_id, str(field.field_type)


def facts_of_files(
    pinned: PinnedTable, files: Sequence[DataFile], *, is_whole: bool
) -> Callable[[str], tuple[Sequence[Fact], IcebergType] | None]:
    """Return a look-up, by a column's name, of what is known of it in each file.

    Args:
        pinned: The table, with its snapshot.
        files: The data files of the snapshot.
        is_whole: Whether these are all of them, so that what is found may be kept.
    """

    def facts_of(name: str) -> tuple[Sequence[Fact], IcebergType] | None:
        field = known_field(pinned, name)
        if field is None:
            return None
        key = (pinned.uuid, pinned.snapshot_id or 0, column_key(field))
        found = _kept.get(key) if is_whole else None
        if found is None:
            found = tuple(_of_file(pinned, file, field) for file in files)
            if is_whole:
                _kept.put(key, found)
        return found, field.field_type

    return facts_of


def facts_of_manifests(
    pinned: PinnedTable, manifests: Sequence[ManifestFile]
) -> Callable[[str], tuple[Sequence[Fact], IcebergType] | None]:
    """Return a look-up, by a column's name, of what is known of it in the files of each manifest."""

    def facts_of(name: str) -> tuple[Sequence[Fact], IcebergType] | None:
        field = known_field(pinned, name)
        if field is None:
            return None
        return [_of_manifest(pinned, manifest, field) for manifest in manifests], field.field_type

    return facts_of


def _of_file(pinned: PinnedTable, file: DataFile, field: NestedField) -> Fact:
    kind, number = field.field_type, field.field_id
    low, high = (file.lower_bounds or {}).get(number), (file.upper_bounds or {}).get(number)
    nulls = (file.null_value_counts or {}).get(number)
    nans = (file.nan_value_counts or {}).get(number) if isinstance(kind, _FLOATS) else 0
    found = Fact(
        None if low is None else decoded(low, kind),
        None if high is None else decoded(high, kind),
        has_null=nulls != 0,
        has_value=nulls is None or nulls < file.record_count,
        has_nan=nans != 0,
    )
    for place, part in enumerate(pinned.table.specs()[file.spec_id].fields):
        if part.source_id != number:
            continue
        said = of_partition(part.transform, kind, file.partition[place])
        if isinstance(part.transform, IdentityTransform):
            return said  # which is what readers take, whatever an imported file has itself
        found = found.both(said)
    return found


def _of_manifest(pinned: PinnedTable, manifest: ManifestFile, field: NestedField) -> Fact:
    kind, found = field.field_type, UNKNOWN
    parts = pinned.table.specs()[manifest.partition_spec_id].fields
    summaries = manifest.partitions or []
    if len(summaries) != len(parts):
        return found
    for part, said in zip(parts, summaries, strict=True):
        if part.source_id != field.field_id:
            continue
        result = cast("PrimitiveType", part.transform.result_type(kind))
        sides = [_plain(result, side) for side in (said.lower_bound, said.upper_bound)]
        found = found.both(
            of_summary(
                part.transform,
                kind,
                sides,
                has_null=said.contains_null is not False,
                has_nan=said.contains_nan is not False,
            )
        )
    return found


def _plain(kind: PrimitiveType, data: bytes | None) -> Any:
    try:
        return None if data is None else from_bytes(kind, data)
    except Exception:  # noqa: BLE001 - what another type has written is not known
        return None


def _type_of(fields: Sequence[NestedField], number: int) -> IcebergType | None:
    return next((each.field_type for each in fields if each.field_id == number), None)


def _is_alike(one: IcebergType, other: IcebergType) -> bool:
    for family in ((IntegerType, LongType), _FLOATS):
        if isinstance(one, family) and isinstance(other, family):
            return True
    if isinstance(one, DecimalType) and isinstance(other, DecimalType):
        return one.scale == other.scale
    return one == other
