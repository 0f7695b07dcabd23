"""Whether a record is one of the table's at all: it shares a field with it, or it has none.

A record of another topic, or one in an envelope that nobody has named, would be a row of nulls in a table
whose columns may all be null. So what holds a whole row is marked in the schema that decoders get, and they
refuse what shares no field with it. What such a record looks like is said here. It must not know formats.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Final

import pyarrow as pa

from hotset.decode.decoded import MisfitError

_ROW: Final = b"kafkaiceberg.row"
# What has the row of a change, and names of fields that only tell of it: Debezium's and Maxwell's.
_CHANGED: Final = frozenset({"before", "after", "data"})
_ABOUT_CHANGES: Final = frozenset(
    {
        "op",
        "source",
        "transaction",
        "ts_ms",
        "ts_us",
        "ts_ns",
        "type",
        "database",
        "table",
        "ts",
        "xid",
        "commit",
    }
)
_CHANGES: Final = (
    frozenset({"op", "after"}),
    frozenset({"op", "before"}),
    frozenset({"type", "data", "database", "table"}),
)
_MOST_NAMES: Final = 6
_MOST_CHARACTERS: Final = 40


def mark_row(schema: pa.Schema, columns: Collection[str]) -> pa.Schema:
    """Return a schema with the mark that it holds a whole row.

    Args:
        schema: What values fill.
        columns: Names of which a record has one at least, if it has any; those that keys fill included.
    """
    return schema.with_metadata({_ROW: json.dumps(list(columns)).encode()})


def marked_field(field: pa.Field, schema: pa.Schema) -> pa.Field:
    """Return a field that holds what a schema is of, with the mark that the schema has."""
    names = row_names(schema.metadata)
    return field if names is None else field.with_metadata({_ROW: json.dumps(names).encode()})


def row_names(metadata: Mapping[bytes, bytes] | None) -> list[str] | None:
    """Return the names that a schema's or field's mark has, or None if it does not hold a whole row."""
    names: list[str] | None = None
    if metadata is not None and _ROW in metadata:
        names = json.loads(metadata[_ROW])
    return names


def may_be_change(unmapped: Collection[str], columns: Collection[str]) -> bool:
    """Return whether rows may be changes in an envelope that share a name with the table by chance.

    Args:
        unmapped: Fields that no column is for.
        columns: Names of the columns.
    """
    seen = {*unmapped, *columns}
    has_looks = any(look <= seen and not look.isdisjoint(_CHANGED & set(unmapped)) for look in _CHANGES)
    return has_looks and not _ABOUT_CHANGES.isdisjoint(columns)


def describe_stranger(fields: Collection[str], columns: Collection[str]) -> str | None:
    """Return what is wrong with a row's fields if none is a column; None if one is, or there are none.

    What only says how a row was changed, beside a row that no column is for, makes no record the table's.

    Args:
        fields: The fields' names.
        columns: Names of all columns that they may fill.
    """
    shared = set(fields) & set(columns)
    is_change = shared <= _ABOUT_CHANGES and any(set(fields) >= look for look in _CHANGES)
    if not fields or not columns or (shared and not is_change):
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


def _likeness(fields: set[str], columns: Collection[str]) -> str:
    if fields >= {"op"} and fields & {"before", "after"}:
        return "; it looks like Debezium's: set envelope=debezium"
    if fields >= {"type", "data", "isDdl"}:
        return "; it looks like Canal's, which has several rows: send a record for each, as Debezium does"
    if fields >= {"type", "data"} and fields & {"database", "table"}:
        return "; it looks like Maxwell's: set envelope=maxwell"
    if fields == {"schema", "payload"}:
        return (
            "; it looks like JSON of Kafka Connect with its schema beside it: set schemas.enable=false in "
            "the producer, or envelope=debezium if the payload is a change of Debezium"
        )
    by_case = {column.casefold(): column for column in columns}
    for name in sorted(fields.difference(columns)):
        if name.casefold() in by_case:
            return f"; names differ only in case ({name!r} for {by_case[name.casefold()]!r})"
    return "; it may be of another topic"
