"""Protobuf records to Arrow by a program in C, and by the reference where that says no.

The program takes only what is plainly right; a record that it refuses is read
again by `protobuf_python`, which takes it or names what is wrong. So rows and faults
are those of the reference, whether this path was there or not.
"""

from __future__ import annotations

from array import array

import pyarrow as pa
from google.protobuf.descriptor import Descriptor

from hotset.decode.builders import array_of, views_of
from hotset.decode.decoded import Decoded, Fault, batch_of
from hotset.decode.protobuf.protobuf_plan import Part
from hotset.decode.protobuf.protobuf_program import NotCompiledError, Program, compile_program
from hotset.decode.protobuf.protobuf_python import DecodePayloads, reference_decoder
from hotset.native import is_pure

try:
    from hotset.decode.protobuf import _wire

    _IS_BUILT = True
except ImportError:  # and all it does is done in Python
    _IS_BUILT = False


def is_built() -> bool:
    """Return whether the program in C is there."""
    return _IS_BUILT


def payload_decoder(message: Descriptor, parts: tuple[Part, ...], schema: pa.Schema) -> DecodePayloads:
    """Return the fastest decoder of one message type that there is here.

    It takes payloads, and how many bytes of each to leave out at the beginning.
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
    built, refused = _wire.decode(program.numbers, program.blob, skip, *views_of(payloads))
    arrays = [array_of(program.builders, built, place) for place in range(len(program.schema))]
    return batch_of(arrays, program.schema, len(payloads)), array("q", refused)


def _with_refused(rows: pa.RecordBatch, refused: array[int], again: Decoded) -> Decoded:
    faults = tuple(Fault(refused[fault.row], fault.reason) for fault in again.faults)
    if len(faults) == len(refused):
        return Decoded(rows, faults)  # such rows are null already
    places = list(range(rows.num_rows))
    for found, row in enumerate(refused):
        places[row] = rows.num_rows + found
    both = pa.Table.from_batches([rows, again.rows])
    return Decoded(both.take(pa.array(places, pa.int64())).combine_chunks().to_batches()[0], faults)
