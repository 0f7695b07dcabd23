"""Which row groups of a Parquet file may have rows that are asked for, as its footer tells.

A footer's bounds are known in the file's own types, so they count only where
these are the table's; those of floats do not count, since writers differ in
what they do with NaN. Which rows of a group are wanted is not known here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, FloatType, IcebergType, IntegerType, LongType, NestedField

from coldset.files.file_columns import FileColumn
from coldset.prune import UNKNOWN, Fact, Predicate, comparable, may_match


def wanted_groups(
    footer: Any,
    columns: Sequence[FileColumn],
    schema: Schema,
    where: Predicate,
    constants: Collection[int] = (),
) -> list[bool]:
    """Return, for each row group, whether it may have rows for which a predicate is true.

    Args:
        footer: The file's metadata, as Arrow has it.
        columns: Its columns, with the table's ids.
        schema: The table's, whose names the predicate uses.
        where: What is asked for.
        constants: Ids of columns whose values are not the file's.
    """
    leaves = {number: place for number, place in _leaves(columns) if number not in constants}

    def facts_of(name: str) -> tuple[Sequence[Fact], IcebergType] | None:
        field = next((each for each in schema.fields if each.name == name), None)
        place = None if field is None else leaves.get(field.field_id)
        if field is None or place is None:
            return None
        return _facts(footer, place, field.field_type), field.field_type

    return may_match(where, facts_of, footer.num_row_groups)


def common_facts(
    footer: Any, columns: Sequence[FileColumn], fields: Iterable[NestedField]
) -> dict[int, Fact]:
    """Return what all row groups say alike of columns, by their ids; what they say otherwise is left out."""
    leaves = dict(_leaves(columns))
    found: dict[int, Fact] = {}
    for field in fields:
        if field.field_id in leaves and field.field_type.is_primitive:
            said = set(_facts(footer, leaves[field.field_id], field.field_type))
            if len(said) == 1:
                found[field.field_id] = said.pop()
    return found


def _facts(footer: Any, place: int, kind: IcebergType) -> list[Fact]:
    groups = (footer.row_group(number) for number in range(footer.num_row_groups))
    return [_fact(group, place, kind) for group in groups]


def _leaves(columns: Sequence[FileColumn]) -> Iterator[tuple[int, int]]:
    """Yield the id of each column without parts, and its place among the leaves of the file."""
    place = 0
    for column in columns:
        if column.field_id is not None and not column.children:
            yield column.field_id, place
        place += _width(column)


def _width(column: FileColumn) -> int:
    return sum(_width(child) for child in column.children) or 1


def _fact(group: Any, place: int, kind: IcebergType) -> Fact:
    try:
        said = group.column(place).statistics
        if said is None:
            return UNKNOWN
        nulls = said.null_count if said.has_null_count else None
        sides = (said.min, said.max) if said.has_min_max else (None, None)
    except (ValueError, OverflowError, NotImplementedError):
        return UNKNOWN  # a text that was cut off within a character, or a time that is none here
    low, high = (_side(side, kind) for side in sides)
    has_value = nulls is None or nulls < group.num_rows
    has_nan = isinstance(kind, FloatType | DoubleType)
    return Fact(low, high, has_null=nulls != 0, has_value=has_value, has_nan=has_nan)


def _side(value: Any, kind: IcebergType) -> int | float | bytes | None:
    # A plain number may be in any unit, unless a number is what the table has.
    is_odd = (
        isinstance(value, int)
        and not isinstance(value, bool)
        and not isinstance(kind, IntegerType | LongType)
    )
    if value is None or is_odd or isinstance(kind, FloatType | DoubleType):
        return None
    return comparable(value, kind)
