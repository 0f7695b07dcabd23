"""Turn the columns of a data file into those of the table: by id, in the table's form.

Fields are reordered, renamed and left out at every depth; what a file lacks is
its initial default or null; a type is widened as the specification allows, and
any other difference is an error, never a cast that might succeed by chance.
Nulls of structs, lists and maps stay nulls. No input or output happens here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import DoubleType, ListType, MapType, NestedField, StructType

from coldset.files.file_columns import FileColumn, with_id

_Test = Callable[[pa.DataType], bool]


@dataclass(frozen=True, slots=True)
class Projection:
    """How the columns of one data file become the table's.

    Attributes:
        columns: What the file has.
        constants: Columns by id that have one value in all rows of the file, by its partition. An imported
            file may say otherwise, and is not believed.
    """

    columns: tuple[FileColumn, ...]
    constants: Mapping[int, Any]

    def column(self, field: NestedField, target: pa.DataType, batch: pa.RecordBatch) -> pa.Array:
        """Return a column of the table for a batch of the file, whose columns are named by their places.

        Raises:
            ValueError, pa.ArrowException: The file's column is not one that could have become the table's.
        """
        found = with_id(self.columns, field.field_id)
        is_constant = field.field_id in self.constants
        is_double = isinstance(field.field_type, DoubleType)
        if found is None or (is_constant and not is_double):
            return self._absent(field, target, batch.num_rows)
        values = self._project(field, target, found[1], batch.column(str(found[0])))
        return _filed_as(values, self.constants[field.field_id]) if is_constant else values

    def leaf(self, path: Sequence[NestedField], target: pa.DataType, batch: pa.RecordBatch) -> pa.Array:
        """Return a column, or a field in structs, which is null where a struct around it is.

        Raises:
            ValueError, pa.ArrowException: The file's column is not one that could have become the table's.
        """
        if len(path) == 1:
            return self.column(path[0], target, batch)
        found = with_id(self.columns, path[0].field_id)
        values = None if found is None else _plain(batch.column(str(found[0])))
        for part in path[1:]:
            if found is None or values is None:
                return pa.nulls(batch.num_rows, target)
            inner = with_id(found[1].children, part.field_id)
            if inner is None:
                missing = self._absent(part, target, batch.num_rows)
                return missing.take(pc.if_else(values.is_valid(), pa.arange(0, batch.num_rows), None))
            found, values = inner, pc.struct_field(values, [inner[0]])
        if found is None or values is None:
            return self._absent(path[-1], target, batch.num_rows)
        return self._project(path[-1], target, found[1], values)

    def depth(self, path: Sequence[NestedField], batch: pa.RecordBatch) -> pa.Array:
        """Return how many of the structs around a field are there, from the outermost on.

        Raises:
            ValueError: Two columns have one id.
        """
        found = with_id(self.columns, path[0].field_id)
        depth = pa.repeat(pa.scalar(0, pa.int8()), batch.num_rows)
        values = None if found is None else _plain(batch.column(str(found[0])))
        for part in path[1:]:
            if found is None or values is None:
                break
            depth = pc.add(depth, values.is_valid().cast(pa.int8()))
            found = with_id(found[1].children, part.field_id)
            # A field of a null is null here.
            values = None if found is None else _plain(pc.struct_field(values, [found[0]]))
        return depth

    def _project(
        self, field: NestedField, target: pa.DataType, column: FileColumn, values: pa.Array
    ) -> pa.Array:
        kind = field.field_type
        values = _plain(values)
        if isinstance(kind, StructType):
            return self._struct(field, kind, target, column, values)
        if isinstance(kind, ListType):
            return self._list(field, kind, target, column, values)
        if isinstance(kind, MapType):
            return self._map(field, kind, target, column, values)
        return _primitive(field, target, values)

    def _absent(self, field: NestedField, target: pa.DataType, rows: int) -> pa.Array:
        if field.field_id in self.constants:
            value = self.constants[field.field_id]
        elif field.required and field.initial_default is None:
            raise ValueError(f"required column {field.name!r} (id {field.field_id}) is not in the file")
        else:
            value = field.initial_default
        if value is None:
            return pa.nulls(rows, target)
        return pa.repeat(pa.scalar(value, type=target), rows)

    def _struct(
        self, field: NestedField, kind: StructType, target: pa.DataType, column: FileColumn, values: pa.Array
    ) -> pa.Array:
        if not pa.types.is_struct(values.type):
            raise ValueError(f"column {field.name!r} is a struct, and {values.type} in the file")
        arrays = []
        for i, part in enumerate(kind.fields):
            found = with_id(column.children, part.field_id)
            inner = target.field(i).type
            arrays.append(
                self._absent(part, inner, len(values))
                if found is None
                else self._project(part, inner, found[1], values.field(found[0]))
            )
        return pa.StructArray.from_arrays(arrays, fields=list(target), mask=values.is_null())

    def _list(
        self, field: NestedField, kind: ListType, target: pa.DataType, column: FileColumn, values: pa.Array
    ) -> pa.Array:
        if not (pa.types.is_list(values.type) or pa.types.is_large_list(values.type)):
            raise ValueError(f"column {field.name!r} is a list, and {values.type} in the file")
        values = _whole(values)
        [element] = _parts(field, column, kind.element_field)
        elements = self._project(kind.element_field, target.value_type, element, values.values)
        offsets = values.offsets.cast(pa.int32())
        return pa.ListArray.from_arrays(offsets, elements, type=target, mask=_mask(values))

    def _map(
        self, field: NestedField, kind: MapType, target: pa.DataType, column: FileColumn, values: pa.Array
    ) -> pa.Array:
        if not pa.types.is_map(values.type):
            raise ValueError(f"column {field.name!r} is a map, and {values.type} in the file")
        values = _whole(values)
        key, value = _parts(field, column, kind.key_field, kind.value_field)
        keys = self._project(kind.key_field, target.key_type, key, values.keys)
        items = self._project(kind.value_field, target.item_type, value, values.items)
        return pa.MapArray.from_arrays(values.offsets, keys, items, type=target, mask=_mask(values))


def is_widening(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether the specification promotes a file's type to the table's, so that every value is kept."""
    if source.equals(target):
        return True
    if pa.types.is_decimal(target):
        return bool(
            pa.types.is_decimal(source)
            and source.scale == target.scale
            and source.precision <= target.precision
        )
    if pa.types.is_timestamp(target):
        return _is_same_clock(source, target)
    if target == pa.uuid() or pa.types.is_fixed_size_binary(target):
        # ORC has bytes of no certain length, which a cast insists on.
        return source == _stored(target) or bool(pa.types.is_binary(source))
    return any(matches(target) and any(each(source) for each in sources) for matches, sources in _WIDENINGS)


def _filed_as(values: pa.Array, constant: Any) -> pa.Array:
    """Return a partition's double, or the file's own where that was filed as the single next to it."""
    filed = pa.array([constant], pa.float64())
    singles = values.cast(pa.float32()).cast(pa.float64())
    is_filed = pc.equal(singles.view(pa.int64()), filed.view(pa.int64())[0])
    return pc.if_else(pc.coalesce(is_filed, pa.scalar(value=False)), values, filed[0])


def _is_narrow_integer(found: pa.DataType) -> bool:
    return bool(pa.types.is_integer(found)) and found.bit_width <= (16 if _is_unsigned(found) else 32)


def _is_integer(found: pa.DataType) -> bool:
    return bool(pa.types.is_integer(found)) and found.bit_width <= (32 if _is_unsigned(found) else 64)


def _is_unsigned(found: pa.DataType) -> bool:
    return bool(pa.types.is_unsigned_integer(found))


def _is_same_clock(source: pa.DataType, target: pa.DataType) -> bool:
    if pa.types.is_date32(source):
        return bool(target.tz is None)
    # Spark's and Hive's oldest form has no zone, and stands for either kind.
    return bool(pa.types.is_timestamp(source)) and source.tz in (None, "UTC", "+00:00", "Etc/UTC", "Z")


_BYTES: Final = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
)

# The table's type, and what it may have been in a file.
_WIDENINGS: Final[tuple[tuple[_Test, tuple[_Test, ...]], ...]] = (
    (pa.types.is_int32, (_is_narrow_integer,)),
    (pa.types.is_int64, (_is_integer,)),
    (pa.types.is_float32, (pa.types.is_float16,)),
    (pa.types.is_float64, (pa.types.is_float16, pa.types.is_float32)),
    (pa.types.is_time64, (pa.types.is_time,)),
    (pa.types.is_string, _BYTES),
    (pa.types.is_binary, _BYTES),
)


def _plain(values: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    return values


def _primitive(field: NestedField, target: pa.DataType, values: pa.Array) -> pa.Array:
    if values.type.equals(target):
        return values
    if not is_widening(values.type, target):
        raise ValueError(
            f"column {field.name!r} (id {field.field_id}) has type {values.type} in the file, which is "
            f"not {target}, nor anything that could have become it"
        )
    if pa.types.is_timestamp(target) and pa.types.is_timestamp(values.type):
        if values.type.unit == "ns" and target.unit == "us":
            # Other readers cut nanoseconds off, too: towards the past, also before 1970.
            values = pc.floor_temporal(values.cast(pa.timestamp("ns")), unit="microsecond")
        return values.cast(pa.timestamp(target.unit)).cast(pa.int64()).cast(target)
    if target == pa.uuid():
        return pa.ExtensionArray.from_storage(target, values.cast(_stored(target)))
    return values.cast(target)


def _stored(kind: pa.DataType) -> pa.DataType:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _parts(field: NestedField, column: FileColumn, *parts: NestedField) -> tuple[FileColumn, ...]:
    # Elements, keys and values cannot be dropped, so one of another id is another column's.
    for part, child in zip(parts, column.children, strict=True):
        if child.field_id not in (part.field_id, None):
            raise ValueError(
                f"column {field.name!r} has parts with id {child.field_id} in the file, and {part.field_id} "
                "in the table"
            )
    return column.children


def _whole(values: pa.Array) -> pa.Array:
    # Offsets of a slice point into the values of the whole, and a mask takes no slices.
    return pa.concat_arrays([values]) if values.offset else values


def _mask(values: pa.Array) -> pa.Array | None:
    return values.is_null() if values.null_count else None
