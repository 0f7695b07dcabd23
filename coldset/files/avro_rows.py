"""Read a data or delete file of format Avro into Arrow, block by block, with the ids its schema has.

Few tables have such files, and rows become Python's values on the way, so this is exact and slow. Values are
taken as they lie in the file, without the library's own idea of times and decimals, which have other bounds.
What the columns become is `projection`. Format: Avro 1.12, and the appendix of the Iceberg specification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import IO, Any, Final

import pyarrow as pa
from fastavro import block_reader, parse_schema, schemaless_reader
from pyiceberg.table.name_mapping import NameMapping

from coldset.files.file_columns import FileColumn, with_ids

_EXACT: Final = Context(prec=76)

_Convert = Callable[[Any], Any]

_PLAIN: Final = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
_LOGICAL: Final[Mapping[tuple[str, str | None], pa.DataType]] = {
    ("int", "date"): pa.date32(),
    ("long", "time-micros"): pa.time64("us"),
    **{
        ("long", f"{local}timestamp-{word}"): pa.timestamp(unit)
        for local in ("", "local-")
        for word, unit in (("millis", "ms"), ("micros", "us"), ("nanos", "ns"))
    },
}


@dataclass(frozen=True, slots=True)
class AvroFile:
    """A file that is open, and what it has; the face of `opened.OpenFile`."""

    columns: tuple[FileColumn, ...]
    _blocks: Any
    _schema: Any
    _parts: tuple[_Part, ...]

    @property
    def footer(self) -> Any:
        """There is none: None."""
        return None

    def batches(
        self, field_ids: Sequence[int], groups: Sequence[bool] | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield batches, each with the number of the row of the file that it begins with.

        Args:
            field_ids: Which top-level columns, as far as there are any; they are named by their places.
            groups: None, since there are no row groups.

        Raises:
            ValueError, pa.ArrowException: The file is broken.
        """
        assert groups is None
        start = 0
        wanted = [i for i, column in enumerate(self.columns) if column.field_id in field_ids]
        for rows in self._rows():
            arrays = [self._parts[i].array([row[self._parts[i].column.name] for row in rows]) for i in wanted]
            names = [str(i) for i in wanted]
            none = pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
            yield start, pa.RecordBatch.from_arrays(arrays, names=names) if arrays else none
            start += len(rows)

    def _rows(self) -> Iterator[list[dict[str, Any]]]:
        try:
            for block in self._blocks:
                data = block.bytes_
                rows: Any = [schemaless_reader(data, self._schema, None) for _ in range(block.num_records)]
                if data.read(1):
                    raise ValueError("a block has more bytes than rows")
                yield rows
        except Exception as exc:
            # A damaged file makes the library stumble in any way there is.
            raise ValueError(f"it is no whole Avro file: {type(exc).__name__}: {exc}") from exc


def open_avro(stream: IO[bytes], mapping: NameMapping | None) -> AvroFile:
    """Read the header of a file.

    Args:
        stream: The file.
        mapping: The table's name mapping, for files without ids.

    Raises:
        ValueError: It is no Avro file, or has a type that no Iceberg table has.
    """
    try:
        blocks = block_reader(stream)
        schema: Any = blocks.writer_schema
        parts = _Compiler().fields(schema)
        bare = parse_schema(_bare(schema))
    except Exception as exc:
        raise ValueError(f"it is no Avro file of a table: {type(exc).__name__}: {exc}") from exc
    columns = with_ids(tuple(part.column for part in parts), mapping)
    return AvroFile(columns, blocks, bare, parts)


@dataclass(frozen=True, slots=True)
class _Part:
    """A column or a part of one, and how its values become what Arrow takes; None if they are."""

    column: FileColumn
    convert: _Convert | None = None

    def array(self, values: list[Any]) -> pa.Array:
        convert = self.convert
        found = values if convert is None else [None if v is None else convert(v) for v in values]
        return pa.array(found, self.column.arrow)


class _Compiler:
    """Makes parts of a schema, in which a type that was named once is told by its name from then on."""

    def __init__(self) -> None:
        self._named: dict[str, Mapping[str, Any]] = {}

    def part(self, kind: Any, name: str, field_id: int | None) -> _Part:
        if isinstance(kind, list):
            others = [each for each in kind if each != "null"]
            if len(others) != 1:
                raise ValueError(f"column {name!r} is a union of {len(others)} types")
            return self.part(others[0], name, field_id)
        said: Mapping[str, Any] = self._named.get(kind, {"type": kind}) if isinstance(kind, str) else kind
        if "name" in said:
            self._named[said["name"]] = said
        if said["type"] == "record":
            return self._record(said, name, field_id)
        if said["type"] == "map":
            key = self.part("string", "key", said.get("key-id"))
            value = self.part(said["values"], "value", said.get("value-id"))
            return _map(name, field_id, key, value, lambda found: found.items())
        if said["type"] == "array":
            return self._array(said, name, field_id)
        arrow, convert = _leaf(said, name)
        return _Part(FileColumn(field_id, name, arrow), convert)

    def fields(self, said: Mapping[str, Any]) -> tuple[_Part, ...]:
        return tuple(self.part(each["type"], each["name"], each.get("field-id")) for each in said["fields"])

    def _record(self, said: Mapping[str, Any], name: str, field_id: int | None) -> _Part:
        parts = self.fields(said)
        arrow = pa.struct([(part.column.name, part.column.arrow) for part in parts])
        column = FileColumn(field_id, name, arrow, tuple(part.column for part in parts))
        inner = {part.column.name: part.convert for part in parts if part.convert is not None}

        def convert(found: Mapping[str, Any]) -> dict[str, Any]:
            return {
                key: inner[key](value) if key in inner and value is not None else value
                for key, value in found.items()
            }

        return _Part(column, convert if inner else None)

    def _array(self, said: Mapping[str, Any], name: str, field_id: int | None) -> _Part:
        if said.get("logicalType") == "map":
            # Keys that are no text have no map in Avro.
            key, value = self.fields(said["items"])
            names = key.column.name, value.column.name
            return _map(name, field_id, key, value, lambda found: ((e[names[0]], e[names[1]]) for e in found))
        element = self.part(said["items"], "element", said.get("element-id"))
        inner = element.convert
        column = FileColumn(field_id, name, pa.list_(element.column.arrow), (element.column,))
        if inner is None:
            return _Part(column)
        return _Part(column, lambda found: [None if each is None else inner(each) for each in found])


def _map(name: str, field_id: int | None, key: _Part, value: _Part, pairs: _Convert) -> _Part:
    of_key, of_value = key.convert, value.convert

    def convert(found: Any) -> list[tuple[Any, Any]]:
        return [
            (of_key(k) if of_key else k, of_value(v) if of_value and v is not None else v)
            for k, v in pairs(found)
        ]

    arrow = pa.map_(key.column.arrow, value.column.arrow)
    return _Part(FileColumn(field_id, name, arrow, (key.column, value.column)), convert)


def _leaf(said: Mapping[str, Any], name: str) -> tuple[pa.DataType, _Convert | None]:
    kind, logical = said["type"], said.get("logicalType")
    if logical == "decimal":
        scale = int(said.get("scale", 0))
        return pa.decimal128(int(said["precision"]), scale), lambda found: _decimal(found, scale)
    if kind == "fixed":
        return pa.binary(int(said["size"])), None
    if (kind, logical) in _LOGICAL:
        return _LOGICAL[(kind, logical)], None
    if kind not in _PLAIN:
        raise ValueError(f"column {name!r} is of type {kind}")
    return _PLAIN[kind], None


def _decimal(found: bytes, scale: int) -> Decimal:
    return Decimal(int.from_bytes(found, "big", signed=True)).scaleb(-scale, _EXACT)


def _bare(kind: Any) -> Any:
    """Return a schema without logical types, by which values are read as they lie there."""
    if isinstance(kind, list):
        return [_bare(each) for each in kind]
    if isinstance(kind, dict):
        return {key: _bare(value) for key, value in kind.items() if key != "logicalType"}
    return kind
