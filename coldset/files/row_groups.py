"""Which row groups of a Parquet file may have rows that are asked for, as its footer tells.

A footer's bounds are known in the file's own types, so they count only where
these are the table's; those of floats do not count, since writers differ in
what they do with NaN. Which rows of a group are wanted is not known here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, FloatType, IcebergType, IntegerType, LongType, NestedField

from coldset.files.file_columns import FileColumn
from coldset.prune import UNKNOWN, Fact, Predicate, comparable, may_match


def wanted_groups(
    footer: Any, columns: Sequence[FileColumn], schema: Schema, where: Predicate, constants: Collection[int]
) -> list[bool]:
    """Return, for each row group, whether it may have rows for which a predicate is true.

    Args:
        footer: The file's metadata, as Arrow has it.
        columns: Its columns, with the table's ids.
        schema: The table's, whose names the predicate uses.
        where: What is asked for.
        constants: Ids of columns whose values are not the file's.
    """
    leaves = _leaves(columns)

    def facts_of(field: NestedField) -> list[Fact] | None:
        is_told = field.field_id in leaves and field.field_id not in constants
        return _facts(footer, leaves[field.field_id], field.field_type) if is_told else None

    return may_match(where, schema, facts_of, footer.num_row_groups)


def facts_by_id(
    footer: Any, columns: Sequence[FileColumn], fields: Iterable[NestedField]
) -> dict[int, frozenset[Fact]]:
    """Return what row groups say of columns, by their ids; what several say alike is there once."""
    leaves = _leaves(columns)
    told = [field for field in fields if field.field_id in leaves]
    return {each.field_id: frozenset(_facts(footer, leaves[each.field_id], each.field_type)) for each in told}


def _leaves(columns: Sequence[FileColumn]) -> dict[int, int]:
    """Return the place among the leaves of the file of each column without parts, by its id."""
    places = accumulate((_width(column) for column in columns), initial=0)
    found = zip(columns, places, strict=False)
    return {each.field_id: place for each, place in found if each.field_id is not None and not each.children}


def _width(column: FileColumn) -> int:
    return sum(_width(child) for child in column.children) or 1


def _facts(footer: Any, place: int, kind: IcebergType) -> list[Fact]:
    return [_fact(footer.row_group(number), place, kind) for number in range(footer.num_row_groups)]


def _fact(group: Any, place: int, kind: IcebergType) -> Fact:
    try:
        said = group.column(place).statistics
        low, high = (None, None) if said is None or not said.has_min_max else (said.min, said.max)
    except (ValueError, OverflowError, NotImplementedError):
        return UNKNOWN  # a text that was cut off within a character, or a time that is none here
    nulls = None if said is None or not said.has_null_count else said.null_count
    has_value = nulls is None or nulls < group.num_rows
    return Fact(_side(low, kind), _side(high, kind), has_null=nulls != 0, has_value=has_value)


def _side(value: Any, kind: IcebergType) -> int | float | bytes | None:
    # A plain number may be in any unit, unless a number is what the table has.
    is_number = isinstance(value, int) and not isinstance(value, bool)
    is_odd = is_number and not isinstance(kind, IntegerType | LongType)
    return None if is_odd or isinstance(kind, FloatType | DoubleType) else comparable(value, kind)
