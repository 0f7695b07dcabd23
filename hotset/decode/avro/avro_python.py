"""Runs a program in Python: the same rows and the same faults as the C interpreter, slowly.

It is used where no extension could be built, and it says in few lines what the
other does. Neither may accept what the other refuses. It must not know schemas.
"""

from __future__ import annotations

import functools
import struct
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from hotset.decode.avro.avro_program import MAX_EMPTY_ITEMS, MAX_NESTING, Code, Op, Program, Step, reason_of
from hotset.decode.avro.decimals import scale_decimal
from hotset.decode.builders import Kind
from hotset.decode.byte_text import parse_uuid
from hotset.decode.decoded import Decoded, MisfitError, decode_one_by_one

_LARGEST_FLOAT: Final = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
_LONGEST_VARINT: Final = 10
_LARGEST: Final = (1 << 63) - 1
_INT128_BYTES: Final = 16


class _StopError(Exception):
    """The record is no row: code, step and detail."""


def python_runner(program: Program) -> Callable[[pa.BinaryArray], Decoded]:
    """Return what runs a program over payloads."""
    return functools.partial(_run, program)


def _run(program: Program, payloads: pa.BinaryArray) -> Decoded:
    def read(payload: bytes) -> list[Any]:
        try:
            found = _Record(program, payload).read_row()
        except _StopError as exc:
            raise MisfitError(reason_of(program, *exc.args)) from None
        return [found.get(place) for place in program.columns]

    return decode_one_by_one(payloads, program.schema, read)


class _Record:
    """One record, and how far it has been read."""

    def __init__(self, program: Program, data: bytes) -> None:
        self._program = program
        self._data = data
        self._at = 0
        self._depth = 0
        self._empty_items = 0

    def read_row(self) -> Mapping[int, Any]:
        found: Mapping[int, Any] = self._run(0)
        if self._at < len(self._data):
            raise _StopError(Code.TRAILING, 0, len(self._data) - self._at)
        return found

    def _run(self, place: int) -> Any:
        """Do a step, and return its value; skipping ones have none."""
        steps = self._program.steps
        while (op := steps[place].op) in (Op.UNION, Op.CALL):
            if op is Op.CALL:
                place = steps[place].a
                continue
            branch, branches = self._varint(place), steps[place].children
            if not 0 <= branch < len(branches):
                raise _StopError(Code.BRANCH, place, branch)
            place = branches[branch]
        return _STEPS[op](self, place, steps[place])

    def _inside(self, place: int, children: tuple[int, ...]) -> list[Any]:
        if self._depth == MAX_NESTING:
            raise _StopError(Code.NESTING, place, 0)
        self._depth += 1
        values = [self._run(child) for child in children]
        self._depth -= 1
        return values

    def _take(self, place: int, size: int) -> bytes:
        if size > len(self._data) - self._at:
            raise _StopError(Code.TRUNCATED, place, 0)
        self._at += size
        return self._data[self._at - size : self._at]

    def _varint(self, place: int) -> int:
        found = 0
        for shift in range(_LONGEST_VARINT):
            if self._at == len(self._data):
                raise _StopError(Code.TRUNCATED, place, 0)
            byte = self._data[self._at]
            self._at += 1
            if shift == _LONGEST_VARINT - 1 and byte > 1:
                break
            found |= (byte & 0x7F) << 7 * shift
            if byte < 0x80:
                return (found >> 1) ^ -(found & 1)
        raise _StopError(Code.VARINT, place, 0)

    def _counted(self, place: int) -> bytes:
        size = self._varint(place)
        if size < 0:
            raise _StopError(Code.LENGTH, place, size)
        return self._take(place, size)

    def nothing(self, place: int, step: Step) -> None:
        """Read no bytes."""

    def skip_varint(self, place: int, step: Step) -> None:
        self._varint(place)

    def skip_fixed(self, place: int, step: Step) -> None:
        self._take(place, step.a)

    def skip_bytes(self, place: int, step: Step) -> None:
        self._counted(place)

    def blocks(self, place: int, step: Step) -> list[Any]:
        items = []
        while count := self._varint(place):
            end = None
            if count < 0:
                # The least number has no positive one in C.
                count, size = min(-count, _LARGEST), self._varint(place)
                if not 0 <= size <= len(self._data) - self._at:
                    raise _StopError(Code.BLOCK, place, 0)
                end = self._at + size
            self._check_count(place, count, step.a)
            items += [self._inside(place, step.children) for _ in range(count)]
            if end is not None and end != self._at:
                raise _StopError(Code.BLOCK, place, 0)
        return items

    def _check_count(self, place: int, count: int, least: int) -> None:
        if least and count > (len(self._data) - self._at) // least:
            raise _StopError(Code.COUNT, place, count)
        if not least:
            if count > MAX_EMPTY_ITEMS - self._empty_items:
                raise _StopError(Code.EMPTY_ITEMS, place, 0)
            self._empty_items += count

    def sequence(self, place: int, step: Step) -> Mapping[int, Any]:
        steps = self._program.steps
        values = self._inside(place, step.children)
        return {steps[child].builder: value for child, value in zip(step.children, values, strict=True)}

    def null(self, place: int, step: Step) -> None:
        if not self._program.builders[step.builder].is_nullable:
            raise _StopError(Code.REQUIRED, place, 0)

    def boolean(self, place: int, step: Step) -> bool:
        [byte] = self._take(place, 1)
        if byte > 1:
            raise _StopError(Code.BOOLEAN, place, byte)
        return byte == 1

    def integer(self, place: int, step: Step) -> int:
        value = self._varint(place)
        if not step.a <= value <= step.b:
            raise _StopError(Code.RANGE, place, 0)
        if value % step.d:
            raise _StopError(Code.ROUNDED, place, 0)
        return value * step.c // step.d

    def number(self, place: int, step: Step) -> float:
        value = self._varint(place)
        if not step.a <= value <= step.b:
            raise _StopError(Code.RANGE, place, 0)
        # Arrow rounds once where Python would round twice, to double and then to float.
        rounded = pa.scalar(value, pa.int64()).cast(self._program.builders[step.builder].type, safe=False)
        return float(rounded.as_py())

    def float_(self, place: int, step: Step) -> float:
        return float(struct.unpack("<f", self._take(place, 4))[0])

    def double(self, place: int, step: Step) -> float:
        value = float(struct.unpack("<d", self._take(place, 8))[0])
        if pa.types.is_float32(self._program.builders[step.builder].type) and value - value == 0:
            if abs(value) > _LARGEST_FLOAT:
                raise _StopError(Code.RANGE, place, 0)
            if struct.unpack("<f", struct.pack("<f", value))[0] != value:
                raise _StopError(Code.ROUNDED, place, 0)
        return value

    def text(self, place: int, step: Step) -> str:
        try:
            return self._counted(place).decode()
        except UnicodeDecodeError:
            raise _StopError(Code.UTF8, place, 0) from None

    def bytes_(self, place: int, step: Step) -> bytes:
        found, wanted = self._counted(place), self._program.builders[step.builder]
        if wanted.kind is Kind.FIXED and len(found) != wanted.width:
            raise _StopError(Code.SIZE, place, len(found))
        return found

    def fixed(self, place: int, step: Step) -> bytes:
        return self._take(place, step.a)

    def decimal(self, place: int, step: Step) -> Decimal:
        found = self._counted(place) if step.a < 0 else self._take(place, step.a)
        value = scale_decimal(found, step.b, step.c)
        if isinstance(value, Code):
            raise _StopError(value, place, 0)
        scale = self._program.builders[step.builder].type.scale
        return Decimal((int(value < 0), tuple(map(int, str(abs(value)))), -scale))

    def enum(self, place: int, step: Step) -> str:
        symbol = self._varint(place)
        if not 0 <= symbol < step.b:
            raise _StopError(Code.SYMBOL, place, symbol)
        return self._program.constants[step.a + symbol].decode()

    def uuid_text(self, place: int, step: Step) -> bytes:
        try:
            return parse_uuid(self._counted(place).decode())
        except ValueError:
            raise _StopError(Code.UUID, place, 0) from None

    def uuid_bytes(self, place: int, step: Step) -> str:
        return str(uuid.UUID(bytes=self._take(place, _INT128_BYTES)))

    def struct(self, place: int, step: Step) -> dict[str, Any]:
        found = self.sequence(place, step)
        builders = self._program.builders
        return {builders[child].name: found[child] for child in builders[step.builder].children}

    def list_(self, place: int, step: Step) -> list[Any]:
        return [item for [item] in self.blocks(place, step)]

    def map_(self, place: int, step: Step) -> list[tuple[Any, Any]]:
        entries = [(key, value) for key, value in self.blocks(place, step)]
        if len({key for key, _value in entries}) < len(entries):
            raise _StopError(Code.KEY_TWICE, place, 0)
        return entries

    def constant(self, place: int, step: Step) -> Any:
        inner = _Record(self._program, self._program.constants[step.a])
        return inner._run(step.children[0])


_STEPS: Final[Mapping[Op, Callable[[_Record, int, Step], Any]]] = {
    Op.NOTHING: _Record.nothing,
    Op.SKIP_VARINT: _Record.skip_varint,
    Op.SKIP_FIXED: _Record.skip_fixed,
    Op.SKIP_BYTES: _Record.skip_bytes,
    Op.SKIP_BLOCKS: _Record.blocks,
    Op.SEQUENCE: _Record.sequence,
    Op.NULL: _Record.null,
    Op.BOOLEAN: _Record.boolean,
    Op.INTEGER: _Record.integer,
    Op.NUMBER: _Record.number,
    Op.FLOAT: _Record.float_,
    Op.DOUBLE: _Record.double,
    Op.TEXT: _Record.text,
    Op.BYTES: _Record.bytes_,
    Op.FIXED: _Record.fixed,
    Op.DECIMAL: _Record.decimal,
    Op.ENUM: _Record.enum,
    Op.UUID_TEXT: _Record.uuid_text,
    Op.UUID_BYTES: _Record.uuid_bytes,
    Op.STRUCT: _Record.struct,
    Op.LIST: _Record.list_,
    Op.MAP: _Record.map_,
    Op.CONSTANT: _Record.constant,
}
