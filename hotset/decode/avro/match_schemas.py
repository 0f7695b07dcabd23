"""Which field of a writer's record fills which column, and what stands in for one that is not there.

By name first, exactly; then by what the writer says a field was called before; then
by what the newest schema says. A field fills one column at most, and a column that
two fields claim is a mismatch. It must not know types of columns.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from hotset.decode.avro.avro_schema import Array, AvroType, Field, Map, Record, Union, resolve
from hotset.decode.matching_fields import describe_stranger
from hotset.errors import SchemaMismatchError

# The columns of records of which only some may be wanted, by the path of the record.
Known = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(slots=True)
class Matched:
    """The outcome for one record.

    Attributes:
        columns: The column that a field fills, by the field's name; others are not wanted.
        newest: What the newest schema has for a column, if it has it.
        absent: Columns that no field fills.
    """

    columns: dict[str, str] = field(default_factory=dict)
    newest: dict[str, Field] = field(default_factory=dict)
    absent: list[str] = field(default_factory=list)


def match_fields(
    record: Record, columns: Collection[str], reader: Record | None, known: Collection[str] = ()
) -> Matched:
    """Match the fields of a record with columns.

    Args:
        record: What was written.
        columns: Names of the columns that are wanted.
        reader: The same record in the newest schema, if it is known.
        known: Names of all columns there are, in their order: what fills one does not depend on
            whether others are wanted.

    Raises:
        SchemaMismatchError: Two fields were once called what a column is called, or no field is a column.
    """
    matched = Matched()
    fields = {each.name: each for each in record.fields}
    open_columns = []
    for column in dict.fromkeys((*known, *columns)):
        if reader is not None and (newest := _newest(reader, column)):
            matched.newest[column] = newest
        if column in fields:
            matched.columns[column] = column
        else:
            open_columns.append(column)
    for column in open_columns:
        free = {name: each for name, each in fields.items() if name not in matched.columns}
        try:
            name = _by_alias(free, column, record) or _by_newest(free, matched.newest.get(column))
        except SchemaMismatchError:
            if column in columns:
                raise
            continue
        if name is None:
            matched.absent.append(column)
        else:
            matched.columns[name] = column
    if not matched.columns and (wrong := describe_stranger([*fields], known)) is not None:
        raise SchemaMismatchError(f"Avro record {record.name!r} has {wrong}")
    return Matched(
        {name: column for name, column in matched.columns.items() if column in columns},
        {column: newest for column, newest in matched.newest.items() if column in columns},
        [column for column in matched.absent if column in columns],
    )


def _newest(reader: Record, column: str) -> Field | None:
    for each in reader.fields:
        if each.name == column:
            return each
    return next((each for each in reader.fields if column in each.aliases), None)


def _by_alias(free: dict[str, Field], column: str, record: Record) -> str | None:
    found = [name for name, each in free.items() if column in each.aliases]
    if len(found) > 1:
        raise SchemaMismatchError(
            f"fields {found[0]!r} and {found[1]!r} of Avro record {record.name!r} both say that they were "
            f"called {column!r} before, so it is not known which of them fills the column; "
            "correct the aliases"
        )
    return found[0] if found else None


def _by_newest(free: dict[str, Field], newest: Field | None) -> str | None:
    if newest is None:
        return None
    return next((name for name in (newest.name, *newest.aliases) if name in free), None)


def newest_record(reader: AvroType | None, writer: Record) -> Record | None:
    """Return the record that stands in the newest schema where the writer's does."""
    found = [each for each in _branches(reader) if isinstance(each, Record)]
    if len(found) > 1:  # of several, the one of that name
        found = [each for each in found if each.name == writer.name]
    return found[0] if len(found) == 1 else None


def newest_part(reader: AvroType | None, kind: type[Array | Map]) -> AvroType | None:
    """Return what the newest schema's array or map has in it."""
    for each in _branches(reader):
        if isinstance(each, kind):
            return each.items if isinstance(each, Array) else each.values
    return None


def _branches(avro: AvroType | None) -> list[AvroType]:
    if avro is None:
        return []
    found = resolve(avro)
    return [resolve(branch) for branch in found.branches] if isinstance(found, Union) else [found]
