"""What the metadata of a table says of its columns: in manifests, in their list, and in partitions.

Columns are found by id, in the schema that an answer has, so that a name that
was given to another column says nothing of this one. A column whose type has
not always been of one family is not known at all, because a bound does not say
which type it was written as. No file is opened here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pyiceberg.manifest import DataFile, ManifestFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.transforms import BucketTransform, IdentityTransform, TimeTransform, TruncateTransform
from pyiceberg.types import DecimalType, IcebergType, IntegerType, LongType, NestedField

from coldset.prune.column_facts import FLOATS, UNKNOWN, Fact, Facts, decoded, of_partition, of_partitions
from coldset.table import PinnedTable
from foundation.lru import LruCache

_UNDERSTOOD: Final = (IdentityTransform, TruncateTransform, BucketTransform, TimeTransform)

# Places in a partition, and the transforms by which what is there is made of a column.
_Parts = list[tuple[int, Any]]

_kept: Final[LruCache[tuple[str, int, NestedField], tuple[Fact, ...]]] = LruCache(
    1_000_000, lambda f: len(f) + 1
)


def facts_of_files(
    pinned: PinnedTable, field: NestedField, files: Sequence[DataFile], *, is_whole: bool
) -> Facts:
    """Return what is known of a column in each file; it is kept if these are the whole of the snapshot's."""
    key = (pinned.uuid, pinned.snapshot_id or 0, field)
    found = _kept.get(key) if is_whole else None
    if found is None and _is_of_one_family(pinned, field):
        parts = parts_made_of(field.field_id, pinned.table.specs())
        found = tuple(_of_file(file, field, parts[file.spec_id]) for file in files)
        if is_whole:
            _kept.put(key, found)
    return found


def facts_of_manifests(pinned: PinnedTable, field: NestedField, manifests: Sequence[ManifestFile]) -> Facts:
    """Return what is known of a column in the files of each manifest; None if nothing is."""
    parts = parts_made_of(field.field_id, pinned.table.specs())
    found = (_of_manifest(each, field.field_type, parts[each.partition_spec_id]) for each in manifests)
    return list(found) if _is_of_one_family(pinned, field) else None


def parts_made_of(column: int, specs: Mapping[int, PartitionSpec]) -> dict[int, _Parts]:
    """Return, by spec, the fields of a partition that are made of a column in a way that is understood."""
    found: dict[int, _Parts] = {}
    for number, spec in specs.items():
        made = [(i, part.transform) for i, part in enumerate(spec.fields) if part.source_id == column]
        found[number] = [(i, transform) for i, transform in made if isinstance(transform, _UNDERSTOOD)]
    return found


def _of_file(file: DataFile, field: NestedField, parts: _Parts) -> Fact:
    kind, number = field.field_type, field.field_id
    nulls = (file.null_value_counts or {}).get(number)
    found = Fact(
        decoded((file.lower_bounds or {}).get(number), kind),
        decoded((file.upper_bounds or {}).get(number), kind),
        has_null=nulls != 0,
        has_value=nulls is None or nulls < file.record_count,
        has_nan=(file.nan_value_counts or {}).get(number) != 0,
    )
    for place, transform in parts:
        said = of_partition(transform, kind, file.partition[place])
        # Readers take a partition's own value, whatever an imported file has itself.
        found = said if isinstance(transform, IdentityTransform) else found.both(said)
    return found


def _of_manifest(manifest: ManifestFile, kind: IcebergType, parts: _Parts) -> Fact:
    found, summaries = UNKNOWN, manifest.partitions or []
    for place, transform in parts if summaries else []:
        said, result = summaries[place], transform.result_type(kind)
        low, high = decoded(said.lower_bound, result), decoded(said.upper_bound, result)
        has_null, has_nan = said.contains_null is not False, said.contains_nan is not False
        fact = of_partitions(transform, kind, low, high)
        found = found.both(replace(fact, has_null=has_null, has_nan=has_nan))
    return found


def _is_of_one_family(pinned: PinnedTable, field: NestedField) -> bool:
    ever = [each for schema in pinned.table.metadata.schemas for each in schema.fields]
    kinds = [each.field_type for each in ever if each.field_id == field.field_id]
    return field.field_type.is_primitive and {_family(kind) for kind in kinds} <= {_family(field.field_type)}


def _family(kind: IcebergType) -> object:
    if isinstance(kind, DecimalType):
        return kind.scale
    return FLOATS if isinstance(kind, FLOATS) else LongType() if isinstance(kind, IntegerType) else kind
