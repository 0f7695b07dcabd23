"""From a writer's schema and the columns wanted to a program.

Fields are matched by name, then by the writer's aliases, then by those of the
newest schema; what a writer lacks is that schema's default, or null. What is not
wanted is skipped. Nothing here sees a record; what no record could be is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from hotset.decode.avro.avro_program import Op, Program, Step
from hotset.decode.avro.avro_schema import (
    Array,
    AvroType,
    Field,
    Map,
    NoDefault,
    Record,
    Scalar,
    Union,
    resolve,
)
from hotset.decode.avro.avro_sizes import Sizes
from hotset.decode.avro.conversions import column_kind, reading_of
from hotset.decode.avro.defaults import encode_default
from hotset.decode.avro.match_schemas import Known, match_fields, newest_part, newest_record
from hotset.decode.builders import Builder, Kind
from hotset.errors import SchemaMismatchError

_MAX_STEPS = 50_000


def plan_program(
    writer: AvroType,
    schema: pa.Schema,
    reader: AvroType | None,
    lone: str | None = None,
    known: Known = (),
) -> Program:
    """Return the program that reads records of one writer schema into columns.

    Args:
        writer: The schema.
        schema: The columns wanted.
        reader: The newest schema, whose aliases and defaults count.
        lone: The column that a value which is no record fills, if there is one.
        known: See `Known`.

    Raises:
        SchemaMismatchError: No record of this schema could be a row of these columns.
        UnsupportedFormatError: A column's type has no form in Avro.
    """
    planner = _Planner(lone, known)
    columns = tuple(planner.add_builder(field, is_column=True) for field in schema)
    planner.read_rows(writer, columns, reader)
    planner.finish()
    return Program(
        steps=tuple(planner.steps),
        builders=tuple(planner.builders),
        columns=columns,
        constants=tuple(planner.constants),
        schema=schema,
        unmapped=frozenset(planner.unmapped),
    )


class _Planner:
    def __init__(self, lone: str | None, known: Known) -> None:
        self._lone = lone
        self._known = dict(known)
        self.steps: list[Step] = []
        self.builders: list[Builder] = []
        self.constants: list[bytes] = []
        self.unmapped: set[str] = set()
        self._sizes = Sizes()
        # Steps that skip a record, by its identity, and those still to be written.
        self._skips: dict[int, int] = {}
        self._open: list[tuple[int, Record, str]] = []
        self._inside: list[int] = []

    def add_builder(self, field: pa.Field, *, is_column: bool = False) -> int:
        wanted = field.type
        kind = column_kind(wanted)
        parts: list[pa.Field] = []
        if kind == "map":
            entries = pa.struct([wanted.key_field.with_name("key"), wanted.item_field.with_name("value")])
            parts = [pa.field("entries", entries, nullable=False)]
        elif kind == "list":
            parts = [wanted.value_field]
        elif kind == "struct":
            parts = list(wanted)
        place = len(self.builders)
        kept, width = _kept(kind, wanted)
        self.builders.append(Builder(field.name, kept, width, is_column or field.nullable, (), wanted))
        children = tuple(self.add_builder(part) for part in parts)
        self.builders[place] = replace(self.builders[place], children=children)
        return place

    def read_rows(self, writer: AvroType, columns: Sequence[int], reader: AvroType | None) -> None:
        """Write the steps that read a record, a union of records, or null for a row of nulls."""
        root, place = resolve(writer), self._reserve()
        if not isinstance(root, Union):
            self._row(place, root, columns, reader)
            return
        branches = tuple(self._reserve() for _ in root.branches)
        for branch, avro in zip(branches, root.branches, strict=True):
            self._row(branch, resolve(avro), columns, reader)
        self._set(place, Step(Op.UNION, children=branches))

    def _row(self, place: int, avro: AvroType, columns: Sequence[int], reader: AvroType | None) -> None:
        if isinstance(avro, Record):
            children = self._fields(avro, columns, newest_record(reader, avro), "")
        elif isinstance(avro, Scalar) and avro.kind == "null":
            children = tuple(self._add(Step(Op.NULL, column)) for column in columns)
        elif self._lone is not None:
            named = {self.builders[column].name: column for column in columns}
            wanted = named.get(self._lone)
            children = (
                self._skip(avro, "") if wanted is None else self._read(avro, wanted, None, self._lone),
            )
        else:
            raise SchemaMismatchError(
                f"the Avro schema of a record is {_called(avro)}, and only a record has fields for the "
                "table's columns; choose another format, or columns of Kafka's own"
            )
        self._set(place, Step(Op.SEQUENCE, children=children))

    def finish(self) -> None:
        """Write the steps that skip records which may hold themselves."""
        while self._open:
            place, record, path = self._open.pop()
            self._set(place, Step(Op.SEQUENCE, children=self._skipped(record, path), path=path))

    def _fields(
        self, record: Record, builders: Sequence[int], reader: Record | None, path: str
    ) -> tuple[int, ...]:
        if id(record) in self._inside:
            raise SchemaMismatchError(
                f"column {path!r} is an Avro record {record.name!r} that stands inside of itself, which no "
                "column can hold; leave it out of the table's schema"
            )
        self._inside.append(id(record))
        named = {self.builders[builder].name: builder for builder in builders}
        found = match_fields(record, named, reader, self._known.get(path, ()))
        steps = []
        for field in record.fields:
            column = found.columns.get(field.name)
            if column is None:
                self.unmapped.add(_below(path, field.name))
                steps.append(self._skip(field.type, _below(path, field.name)))
                continue
            newest = found.newest.get(column)
            steps.append(
                self._read(field.type, named[column], newest.type if newest else None, _below(path, column))
            )
        absent = [
            self._absent(named[column], found.newest.get(column), _below(path, column))
            for column in found.absent
        ]
        self._inside.pop()
        return (*steps, *absent)

    def _absent(self, builder: int, newest: Field | None, path: str) -> int:
        if newest is None or newest.default is NoDefault:
            return self._add(Step(Op.NULL, builder, path=path))
        place, constant = self._reserve(), len(self.constants)
        self.constants.append(encode_default(newest.default, newest.type, path))
        inside, self._inside = self._inside, []
        child = self._read(newest.type, builder, None, path)
        self._inside = inside
        self._set(place, Step(Op.CONSTANT, builder, a=constant, children=(child,), path=path))
        return place

    def _read(self, avro: AvroType, builder: int, reader: AvroType | None, path: str) -> int:
        found, wanted = resolve(avro), self.builders[builder]
        kind = column_kind(wanted.type)
        if isinstance(found, Scalar):
            return self._read_scalar(found, builder, path)
        place = self._reserve()
        if isinstance(found, Union):
            children = tuple(self._read(branch, builder, reader, path) for branch in found.branches)
            self._set(place, Step(Op.UNION, builder, children=children, path=path))
        elif isinstance(found, Record) and kind == "struct":
            children = self._fields(found, wanted.children, newest_record(reader, found), path)
            self._set(place, Step(Op.STRUCT, builder, children=children, path=path))
        elif isinstance(found, Array) and kind == "list":
            item = self._read(found.items, wanted.children[0], newest_part(reader, Array), f"{path}.element")
            self._set(
                place, Step(Op.LIST, builder, self._sizes.least(found.items), children=(item,), path=path)
            )
        elif isinstance(found, Map) and kind == "map":
            key, value = self.builders[wanted.children[0]].children
            children = (
                self._read(Scalar("string"), key, None, f"{path}.key"),
                self._read(found.values, value, newest_part(reader, Map), f"{path}.value"),
            )
            self._set(
                place,
                Step(Op.MAP, builder, 1 + self._sizes.least(found.values), children=children, path=path),
            )
        else:
            raise _unfit(path, wanted.type, found)
        return place

    def _read_scalar(self, found: Scalar, builder: int, path: str) -> int:
        reading = reading_of(found, self.builders[builder].type)
        if reading is None:
            raise _unfit(path, self.builders[builder].type, found)
        a, b = reading.a, reading.b
        if reading.op is Op.ENUM:
            a, b = len(self.constants), len(reading.symbols)
            self.constants += [symbol.encode() for symbol in reading.symbols]
        return self._add(Step(reading.op, builder, a, b, reading.c, reading.d, path=path))

    def _skip(self, avro: AvroType, path: str) -> int:
        found = resolve(avro)
        if self._sizes.is_empty(found):
            return self._add(Step(Op.NOTHING, path=path))
        if isinstance(found, Scalar):
            return self._add(_skipping(found, path))
        if isinstance(found, Record):
            if id(found) not in self._skips:
                self._skips[id(found)] = self._reserve()
                self._open.append((self._skips[id(found)], found, path))
            return self._add(Step(Op.CALL, a=self._skips[id(found)], path=path))
        place = self._reserve()
        if isinstance(found, Union):
            children = tuple(self._skip(branch, path) for branch in found.branches)
            self._set(place, Step(Op.UNION, children=children, path=path))
        elif isinstance(found, Array):
            item, least = self._skip(found.items, path), self._sizes.least(found.items)
            self._set(place, Step(Op.SKIP_BLOCKS, a=least, children=(item,), path=path))
        else:
            key = self._add(Step(Op.SKIP_BYTES, path=path))
            value, least = self._skip(found.values, path), 1 + self._sizes.least(found.values)
            self._set(place, Step(Op.SKIP_BLOCKS, a=least, children=(key, value), path=path))
        return place

    def _skipped(self, record: Record, path: str) -> tuple[int, ...]:
        return tuple(self._skip(field.type, _below(path, field.name)) for field in record.fields)

    def _add(self, step: Step) -> int:
        place = self._reserve()
        self._set(place, step)
        return place

    def _reserve(self) -> int:
        if len(self.steps) == _MAX_STEPS:
            raise SchemaMismatchError(
                f"the Avro schema of a record takes more than {_MAX_STEPS} steps to read; read fewer columns"
            )
        self.steps.append(Step(Op.NOTHING))
        return len(self.steps) - 1

    def _set(self, place: int, step: Step) -> None:
        self.steps[place] = step


def _kept(kind: str, wanted: pa.DataType) -> tuple[Kind, int]:
    if kind in ("string", "binary"):
        return Kind.BYTES, 0
    if kind in ("list", "map"):
        return Kind.LIST, 0
    if kind == "struct":
        return Kind.STRUCT, 0
    return (Kind.BIT, 0) if kind == "boolean" else (Kind.FIXED, wanted.bit_width // 8)


def _skipping(found: Scalar, path: str) -> Step:
    sizes = {"boolean": 1, "float": 4, "double": 8, "fixed": found.size}
    if found.kind in sizes:
        return Step(Op.SKIP_FIXED, a=sizes[found.kind], path=path)
    return Step(Op.SKIP_BYTES if found.kind in ("bytes", "string") else Op.SKIP_VARINT, path=path)


def _called(avro: AvroType) -> str:
    if isinstance(avro, Scalar):
        digits = f"({avro.precision}, {avro.scale})" if avro.logical == "decimal" else ""
        return avro.label + digits + (f" of {avro.size} bytes" if avro.kind == "fixed" else "")
    return type(avro).__name__.lower()


def _unfit(path: str, wanted: pa.DataType, avro: AvroType) -> SchemaMismatchError:
    return SchemaMismatchError(
        f"column {path!r} wants {wanted}, and the Avro schema of a record has {_called(avro)} there, "
        "which never is one; correct the table's schema, or leave the column out",
        column=path,
    )


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
