"""Protobuf records to Arrow by a program in C, and by the reference where that says no.

The program takes only what is plainly right; a record that it refuses is read
again by `reference`, which takes it or names what is wrong. So rows and faults
are those of the reference, whether this path was there or not.
"""

from __future__ import annotations

from array import array
from typing import Final

import pyarrow as pa
from google.protobuf.descriptor import Descriptor

from hotset.decode.builders import Kind
from hotset.decode.decoded import Decoded, Fault, batch_of
from hotset.decode.protobuf.plan import Part
from hotset.decode.protobuf.program import NotCompiledError, Program, children_of, compile_program
from hotset.decode.protobuf.reference import DecodePayloads, reference_decoder
from hotset.native import is_pure

try:
    from hotset.decode.protobuf import _wire

    _IS_BUILT = True
except ImportError:  # and all it does is done in Python
    _IS_BUILT = False

_Column = tuple[int, int, tuple[int, int], tuple[int, int], tuple[int, int]]
_ONE_END: Final = pa.py_buffer(bytes(4))


def is_built() -> bool:
    """Return whether the program in C is there.

    Raises:
        Nothing of its own.
    """
    return _IS_BUILT


def payload_decoder(message: Descriptor, parts: tuple[Part, ...], schema: pa.Schema) -> DecodePayloads:
    """Return the fastest decoder of one message type that there is here.

    It takes payloads, and how many bytes of each to leave out at the beginning.

    Raises:
        Nothing of its own.
    """
    by_reference = reference_decoder(message, parts, schema)
    if not _IS_BUILT or is_pure() or not len(schema):
        return by_reference
    try:
        program = compile_program(message, parts, schema)
    except NotCompiledError:
        return by_reference

    def natively(payloads: pa.BinaryArray, skip: int) -> Decoded:
        if not len(payloads):
            return by_reference(payloads, skip)
        rows, refused = _run(program, payloads, skip)
        if not refused:
            return Decoded(rows)
        places = pa.array(refused, pa.int64())
        return _with_refused(rows, refused, by_reference(payloads.take(places), skip))

    return natively


def _run(program: Program, payloads: pa.BinaryArray, skip: int) -> tuple[pa.RecordBatch, array[int]]:
    validity, ends, data = payloads.buffers()
    capsule, columns, refused = _wire.decode(
        program.numbers,
        program.blob,
        b"" if validity is None else validity,
        ends,
        b"" if data is None else data,
        payloads.offset,
        len(payloads),
        skip,
    )
    arrays = [
        _array(program, columns, capsule, place, field.type) for place, field in enumerate(program.schema)
    ]
    return batch_of(arrays, program.schema, len(payloads)), array("q", refused)


def _array(
    program: Program, columns: list[_Column], capsule: object, place: int, wanted: pa.DataType
) -> pa.Array:
    length, nulls, validity, ends, data = columns[place]
    kind = program.kinds[place]
    buffers = [_buffer(validity, capsule) if nulls else None]
    if kind in (Kind.BYTES, Kind.LIST):
        buffers.append(_buffer(ends, capsule) if length else _ONE_END)
    if kind in (Kind.BIT, Kind.FIXED, Kind.BYTES):
        buffers.append(_buffer(data, capsule))
    first = program.first_children[place]
    children = [
        _array(program, columns, capsule, child, each)
        for child, each in enumerate(children_of(wanted), start=first)
    ]
    return pa.Array.from_buffers(wanted, length, buffers, nulls, children=children or None)


def _buffer(at: tuple[int, int], capsule: object) -> pa.Buffer:
    address, size = at
    return pa.foreign_buffer(address, size, capsule) if size else pa.py_buffer(b"")


def _with_refused(rows: pa.RecordBatch, refused: array[int], again: Decoded) -> Decoded:
    faults = tuple(Fault(refused[fault.row], fault.reason) for fault in again.faults)
    if len(faults) == len(refused):
        return Decoded(rows, faults)  # such rows are null already
    places = list(range(rows.num_rows))
    for found, row in enumerate(refused):
        places[row] = rows.num_rows + found
    both = pa.Table.from_batches([rows, again.rows])
    return Decoded(both.take(pa.array(places, pa.int64())).combine_chunks().to_batches()[0], faults)
