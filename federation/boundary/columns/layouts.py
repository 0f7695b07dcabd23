"""How the writers that keep a record's coordinates in columns name them.

A table is recognised by its schema alone, unless option `kafkaColumns` names
the columns. A recognised column belongs to the writer and not to the record's
value, so hot rows get it filled from the record's coordinates; a column of a
layout that a record does not tell stays known as such, and reading it is an
error. Recognition is pure; filling is `hotset.decode.position`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from federation.errors import OptionError
from federation.options import TableDefinition
from foundation.lru import LruCache
from hotset.decode import Source

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KafkaLayout:
    """Where a table's rows keep the coordinates of their records.

    Attributes:
        name: Whose layout it is, in words.
        paths: What a record tells (`partition`, `offset`, …) to the column that
            holds it; more than one name if it is inside of a struct.
        columns: All top-level columns that belong to the layout, and where their
            content comes from.
    """

    name: str
    paths: Mapping[str, Path]
    columns: Mapping[str, Source]


@dataclass(frozen=True, slots=True)
class _Known:
    """A layout of a known writer.

    Attributes:
        name: The writer.
        fields: What a record tells to the dotted name of its column.
        needs: Fields without which a table is not recognised; beyond partition and
            offset where names are so common that more must fit.
        prefix: Top-level columns that begin with this are the writer's, too.
        others: Top-level columns that are the writer's, too, and that no record tells.
    """

    name: str
    fields: Mapping[str, str]
    needs: tuple[str, ...] = ("partition", "offset")
    prefix: str | None = None
    others: tuple[str, ...] = ()


def _fields(prefix: str, *fields: str) -> dict[str, str]:
    return {field: prefix + field for field in fields}


_TIMED: Final = ("partition", "offset", "timestamp")

KNOWN: Final = (
    _Known(
        "Kafka Connect's KafkaMetadataTransform",
        _fields("_kafka_metadata_", "topic", *_TIMED),
        prefix="_kafka_metadata_",
    ),
    _Known(
        "Kafka Connect's KafkaMetadataTransform, nested, or AutoMQ",
        {
            **_fields("_kafka_metadata.", "topic", *_TIMED),
            "key": "_kafka_key",
            "headers": "_kafka_header",
            "value": "_kafka_value",
        },
    ),
    _Known("Redpanda", _fields("redpanda.", *_TIMED, "headers", "key", "timestamp_type"), needs=_TIMED),
    _Known(
        "Confluent Tableflow",
        {**_fields("$$", "topic", *_TIMED, "headers"), "key": "$$raw-key", "value": "$$raw-value"},
        prefix="$$",
    ),
    _Known(
        "Confluent Tableflow, portable names",
        {
            **_fields("cflt_metadata_", "topic", *_TIMED, "headers"),
            "key": "cflt_metadata_raw_key",
            "value": "cflt_metadata_raw_value",
        },
        prefix="cflt_metadata_",
    ),
    _Known(
        "Aiven",
        {**_fields("kafka.", *_TIMED), "key": "key_raw", "value": "value_raw", "headers": "headers"},
        needs=_TIMED,
        others=("key", "value"),
    ),
    _Known("Streambased", _fields("kafka_", *_TIMED), needs=_TIMED),
)


def layout_of(schema: pa.Schema, definition: TableDefinition) -> KafkaLayout | None:
    """Return the layout of a table's Kafka columns, or None if it has none that is known.

    Args:
        schema: The schema of the answer.
        definition: Settled options; `kafka_columns` goes before recognition.

    Raises:
        OptionError: The columns that `kafkaColumns` names are not there or of another
            type, or the table has columns of two layouts.
    """
    if definition.kafka_columns:
        return _declared(schema, definition.kafka_columns)
    if not definition.recognises_columns:
        return None
    found = _recognised(schema)
    if len(found) > 1:
        names = " and ".join(layout.name for layout in found)
        raise OptionError(
            f"table {definition.name!r} has the Kafka columns of {names}; say with option 'kafkaColumns' "
            "which hold a record's own partition and offset, or kafkaColumns=none if none do",
            option="kafkaColumns",
        )
    return found[0] if found else None


_SCHEMAS: Final = 256
_seen: Final[LruCache[pa.Schema, tuple[KafkaLayout, ...]]] = LruCache(_SCHEMAS)


def _recognised(schema: pa.Schema) -> tuple[KafkaLayout, ...]:
    found = _seen.get(schema)
    if found is None:
        found = tuple(layout for known in KNOWN if (layout := _match(schema, known)) is not None)
        _seen.put(schema, found)
    return found


def has_coordinates(schema: pa.Schema, definition: TableDefinition) -> bool:
    """Return whether rows of the table say of which partition and offset they are.

    Raises:
        OptionError: As `layout_of`.
    """
    layout = layout_of(schema, definition)
    return layout is not None and {"partition", "offset"} <= set(layout.paths)


def _match(schema: pa.Schema, known: _Known) -> KafkaLayout | None:
    resolved = {field: _one_path(schema, name) for field, name in known.fields.items()}
    paths = {field: path for field, path in resolved.items() if path is not None}
    if not all(field in paths for field in known.needs):
        return None
    if not all(pa.types.is_integer(type_at(schema, paths[field])) for field in ("partition", "offset")):
        return None
    more = [
        name
        for name in schema.names
        if name in known.others or (known.prefix is not None and name.startswith(known.prefix))
    ]
    return KafkaLayout(known.name, paths, _sources(schema, paths, more))


def _declared(schema: pa.Schema, named: Mapping[str, str]) -> KafkaLayout | None:
    paths = {}
    for field, name in named.items():
        path = _one_path(schema, name)
        if path is None:
            raise OptionError(
                f"option 'kafkaColumns' names {name!r} for the {field}, which the table does not have "
                f"exactly once; it has {', '.join(schema.names)}",
                option="kafkaColumns",
            )
        kind = type_at(schema, path)
        if field in ("partition", "offset") and not pa.types.is_integer(kind):
            raise OptionError(
                f"option 'kafkaColumns' names {name!r} for the {field}, which is of type {kind} and holds no "
                "whole numbers",
                option="kafkaColumns",
            )
        paths[field] = path
    return KafkaLayout("option kafkaColumns", paths, _sources(schema, paths, []))


def _sources(schema: pa.Schema, paths: Mapping[str, Path], more: list[str]) -> dict[str, Source]:
    # A struct that holds one coordinate is the writer's as a whole: what it holds besides,
    # and what has the writer's prefix besides, no record tells.
    told = {path: field for field, path in paths.items()}
    found: dict[str, Source] = {}
    for name in [*(path[0] for path in told), *more]:
        kind = schema.field(name).type
        found[name] = told[(name,)] if (name,) in told else _source(kind, (name,), told)
    return found


def _source(kind: pa.DataType, path: Path, told: Mapping[Path, str]) -> Source:
    if path in told:
        return told[path]
    if pa.types.is_struct(kind) and any(each[: len(path)] == path for each in told):
        return {child.name: _source(child.type, (*path, child.name), told) for child in kind}
    return None


def _one_path(schema: pa.Schema, name: str) -> Path | None:
    found = list(_paths(schema, name))
    return found[0] if len(found) == 1 else None


def _paths(fields: pa.Schema | pa.StructType, name: str) -> Iterator[Path]:
    # Names may have dots, so each way to take the name apart is tried.
    for field in fields:
        if field.name == name:
            yield (name,)
        if pa.types.is_struct(field.type) and name.startswith(f"{field.name}."):
            for rest in _paths(field.type, name.removeprefix(f"{field.name}.")):
                yield (field.name, *rest)


def type_at(fields: pa.Schema | pa.StructType, path: Path) -> pa.DataType:
    """Return the type of a column, or of a field in columns that are structs.

    Raises:
        KeyError: There is none.
    """
    kind = fields.field(path[0]).type
    return kind if len(path) == 1 else type_at(kind, path[1:])
