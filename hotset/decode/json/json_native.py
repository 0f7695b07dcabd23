"""JSON records to Arrow by the reader in C, if it was built, and which of them it does not take.

Lays the columns wanted out as the nodes that the reader fills (`hotset/native/json/program.h`). It must not
know what a record means: the reader takes what is plainly right, and the rest is decided elsewhere.
"""

from __future__ import annotations

import functools
import json
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

import pyarrow as pa

from hotset.decode.builders import Builder, Kind, array_of, views_of
from hotset.decode.decoded import Decoded, batch_of
from hotset.decode.json.epoch_unit import EpochUnit
from hotset.decode.matching_fields import is_marked
from hotset.native import is_pure

try:
    from hotset.decode.json import _json

    _BUILT = True
except ImportError:  # and all it does is done in Python
    _BUILT = False

# As in the reader; what is deeper or longer is decoded in Python.
_DEEPEST: Final = 60
_LARGEST_FIXED: Final = 256
_MOST_DIGITS: Final = 38
# Digits of a second's fraction.
_FRACTION: Final = {"us": 6, "ns": 9}
# In the order of the reader's units.
_UNITS: Final = (EpochUnit.NONE, EpochUnit.SECONDS, EpochUnit.MILLIS, EpochUnit.MICROS)


class Form(IntEnum):
    """What a node reads. Numbers are the reader's too (`hotset/native/json/program.h`)."""

    STRUCT = 0
    LIST = 1
    MAP = 2
    ENTRY = 3
    BOOLEAN = 4
    INTEGER = 5
    FLOATING = 6
    DECIMAL = 7
    STRING = 8
    DATE = 9
    TIME = 10
    TIMESTAMP = 11
    BINARY = 12
    UUID = 13


@dataclass(frozen=True, slots=True)
class Reader:
    """Columns that the reader in C knows how to fill."""

    schema: pa.Schema
    builders: tuple[Builder, ...]
    paths: tuple[str, ...]
    program: object

    def take(self, payloads: pa.BinaryArray) -> tuple[Decoded, list[int]]:
        """Return a row for each payload, and which were not taken, whose rows are null in every column."""
        built, refused, unknown = _json.read_records(self.program, *views_of(payloads))
        arrays = [array_of(self.builders, built, place) for place in self.builders[0].children]
        unmapped = frozenset(self.paths[place] + _unescaped(name) for place, name in unknown)
        rows = batch_of(arrays, self.schema, len(payloads))
        return Decoded(rows, unmapped=unmapped), array("q", refused).tolist()


def is_built() -> bool:
    """Return whether the reader in C is there."""
    return _BUILT


def reader_of(schema: pa.Schema, epoch_unit: EpochUnit = EpochUnit.MILLIS) -> Reader | None:
    """Return the reader of these columns, or None if they are to be decoded in Python."""
    # With its metadata, which rows keep.
    return None if not _BUILT or is_pure() else _compiled(schema.serialize().to_pybytes(), epoch_unit)


@functools.lru_cache(maxsize=64)
def _compiled(written: bytes, epoch_unit: EpochUnit) -> Reader | None:
    schema = pa.ipc.read_schema(pa.py_buffer(written))
    # A column may be null, whatever is said of it; what fills it is not known here.
    columns = pa.struct([field.with_nullable(nullable=True) for field in schema])
    nodes = _laid_out(pa.field("record", columns, nullable=False, metadata=schema.metadata), epoch_unit)
    if nodes is None:
        return None
    numbers = [number for node in nodes for number in node.numbers]
    program = _json.compile_program(array("q", numbers).tobytes(), b"".join(node.name for node in nodes))
    builders = tuple(node.builder for node in nodes)
    return Reader(schema, builders, _paths(nodes), program)


def _paths(nodes: list[_Node]) -> tuple[str, ...]:
    """Return what stands before the name of a field in each node."""
    paths = [""] * len(nodes)
    for place, node in enumerate(nodes):
        for child in node.builder.children:
            # The entries of a map are none of its fields.
            name = "" if node.form is Form.MAP else f"{nodes[child].builder.name}."
            paths[child] = paths[place] + name
    return tuple(paths)


def _unescaped(name: bytes) -> str:
    text = name.decode()
    return str(json.loads(f'"{text}"')) if "\\" in text else text


class _Node(NamedTuple):
    form: Form
    builder: Builder
    a: int
    b: int

    @property
    def name(self) -> bytes:
        return self.builder.name.encode()

    @property
    def numbers(self) -> tuple[int, ...]:
        kept = self.builder
        first, count = kept.children[0] if kept.children else 0, len(kept.children)
        return (
            self.form,
            kept.kind,
            kept.width,
            kept.is_nullable,
            self.a,
            self.b,
            first,
            count,
            len(self.name),
        )


def _laid_out(record: pa.Field, epoch_unit: EpochUnit) -> list[_Node] | None:
    """Return a record's nodes, children side by side behind their parents; None if one is not covered."""
    pending: list[tuple[pa.Field, Form | None, int]] = [(record, Form.STRUCT, 0)]
    nodes = []
    for field, form, depth in pending:  # which grows meanwhile
        if form is None or depth > _DEEPEST:
            return None
        parts = _parts(form, field.type)
        if not _can_be_keys([part.name for part, _ in parts]):
            return None
        children = tuple(range(len(pending), len(pending) + len(parts)))
        pending += [(part, each, depth + 1) for part, each in parts]
        kept, width = _kept(form, field.type)
        builder = Builder(field.name, kept, width, field.nullable, children, field.type)
        nodes.append(_Node(form, builder, *_details(form, field, epoch_unit)))
    return nodes


def _can_be_keys(names: list[str]) -> bool:
    """Whether a field fills one of these at most, and they stand in a record as they are."""
    is_plain = not any(char in '"\\' or char < " " for name in names for char in name)
    return is_plain and len(set(names)) == len(names)


def _form(wanted: pa.DataType) -> Form | None:
    return next((form for matches, form in _FORMS if matches(wanted)), None)


def _parts(form: Form, wanted: pa.DataType) -> list[tuple[pa.Field, Form | None]]:
    if form is Form.MAP:
        entries = pa.struct([wanted.key_field.with_name("key"), wanted.item_field.with_name("value")])
        return [(pa.field("entries", entries, nullable=False), Form.ENTRY)]
    if form is Form.LIST:
        return [(wanted.value_field, _form(wanted.value_type))]
    if form in (Form.STRUCT, Form.ENTRY):
        return [(part, _form(part.type)) for part in wanted]
    return []


def _kept(form: Form, wanted: pa.DataType) -> tuple[Kind, int]:
    if form in (Form.STRUCT, Form.ENTRY):
        return Kind.STRUCT, 0
    if form in (Form.LIST, Form.MAP):
        return Kind.LIST, 0
    if form is Form.BOOLEAN:
        return Kind.BIT, 0
    is_long = pa.types.is_string(wanted) or pa.types.is_binary(wanted)
    return (Kind.BYTES, 0) if is_long else (Kind.FIXED, wanted.bit_width // 8)


def _details(form: Form, field: pa.Field, epoch_unit: EpochUnit) -> tuple[int, int]:
    wanted = field.type
    if form is Form.STRUCT:
        return int(is_marked(field.metadata)), 0
    if form is Form.DECIMAL:
        return wanted.precision, wanted.scale
    if form is Form.TIMESTAMP:
        return int(wanted.tz is not None) + 2 * _UNITS.index(epoch_unit), _FRACTION[wanted.unit]
    return 0, 0


# What is not in here is decoded in Python.
_FORMS: Final[tuple[tuple[Callable[[pa.DataType], bool], Form], ...]] = (
    (lambda wanted: pa.types.is_struct(wanted) and wanted.num_fields > 0, Form.STRUCT),
    (pa.types.is_list, Form.LIST),
    (lambda wanted: pa.types.is_map(wanted) and pa.types.is_string(wanted.key_type), Form.MAP),
    (pa.types.is_boolean, Form.BOOLEAN),
    (lambda wanted: pa.types.is_int32(wanted) or pa.types.is_int64(wanted), Form.INTEGER),
    (lambda wanted: pa.types.is_float32(wanted) or pa.types.is_float64(wanted), Form.FLOATING),
    (lambda wanted: pa.types.is_decimal128(wanted) and 0 <= wanted.scale <= _MOST_DIGITS, Form.DECIMAL),
    (pa.types.is_string, Form.STRING),
    (pa.types.is_date32, Form.DATE),
    (lambda wanted: bool(wanted == pa.time64("us")), Form.TIME),
    (lambda wanted: pa.types.is_timestamp(wanted) and wanted.unit in _FRACTION, Form.TIMESTAMP),
    (pa.types.is_binary, Form.BINARY),
    (lambda w: pa.types.is_fixed_size_binary(w) and w.byte_width <= _LARGEST_FIXED, Form.BINARY),
    (lambda wanted: bool(wanted == pa.uuid()), Form.UUID),
)
