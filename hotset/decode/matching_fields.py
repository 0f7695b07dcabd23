"""Whether a record is one of the table's at all: it shares a field with it, or it has none.

A record of another topic, or one in an envelope that nobody has named, would be a row of nulls in a table
whose columns may all be null. So what holds a whole row is marked in the schema that decoders get, and they
refuse what shares no field with it. What such a record looks like is said here. It must not know formats.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import pyarrow as pa

from hotset.decode.decoded import MisfitError

_ROW: Final = b"kafkaiceberg.row"
_MOST_NAMES: Final = 6
_MOST_CHARACTERS: Final = 40


def mark_row(schema: pa.Schema) -> pa.Schema:
    """Return a schema of all columns that values fill, with the mark that they are."""
    return schema.with_metadata({_ROW: b""})


def marked_field(field: pa.Field, schema: pa.Schema) -> pa.Field:
    """Return a field that holds what a schema is of, with the mark that the schema has."""
    return field.with_metadata({_ROW: b""}) if is_marked(schema.metadata) else field


def is_marked(metadata: Mapping[bytes, bytes] | None) -> bool:
    """Return whether a schema, or a field, holds a whole row of the table."""
    return metadata is not None and _ROW in metadata


def describe_stranger(fields: Collection[str], columns: Collection[str]) -> str | None:
    """Return what is wrong with a row's fields if none is a column; None if one is, or there are none.

    Args:
        fields: The fields' names.
        columns: Names of all columns that they may fill.
    """
    if not fields or not columns or not set(fields).isdisjoint(columns):
        return None
    return (
        f"no field of the table: it has {_listed(fields)}, and the table has {_listed(columns)}"
        f"{_likeness(set(fields), columns)}"
    )


def require_common_field(fields: Collection[str], columns: Collection[str], what: str = "its value") -> None:
    """Raise unless what holds a row has a field that is a column, or no field at all.

    Args:
        fields: The fields' names.
        columns: Names of all columns that they may fill.
        what: How an error calls it.

    Raises:
        MisfitError: It shares no field with the table.
    """
    wrong = describe_stranger(fields, columns)
    if wrong is not None:
        raise MisfitError(f"{what} has {wrong}")


def _listed(names: Collection[str]) -> str:
    shown = [repr(name[:_MOST_CHARACTERS]) for name in list(names)[:_MOST_NAMES]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _likeness(fields: set[str], columns: Iterable[str]) -> str:
    by_case = {column.casefold(): column for column in columns}
    for name in sorted(fields):
        if name.casefold() in by_case:
            return f"; names differ only in case ({name!r} for {by_case[name.casefold()]!r})"
    if fields >= {"op"} and fields & {"before", "after"}:
        return "; it looks like Debezium's: set envelope=debezium"
    if fields >= {"type", "data"} and fields & {"database", "table"}:
        return "; it looks like Maxwell's: set envelope=maxwell"
    if fields == {"schema", "payload"}:
        return (
            "; it looks like JSON of Kafka Connect with its schema beside it: set schemas.enable=false in "
            "the producer, or envelope=debezium if the payload is a change of Debezium"
        )
    return "; it may be of another topic"
