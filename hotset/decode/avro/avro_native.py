"""Runs a program with the C interpreter, if it was built, straight into Arrow's buffers.

Packs a program as the numbers that the interpreter takes, once, and puts arrays
around the buffers that come back. It must not know schemas, and decides nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa

from hotset.decode.avro.avro_program import Program, reason_of
from hotset.decode.builders import array_of, views_of
from hotset.decode.decoded import Decoded, Fault, batch_of
from hotset.native import is_pure

try:
    from hotset.decode.avro import _interpreter

    _BUILT = True
except ImportError:
    _BUILT = False

_FAULT_NUMBERS: Final = 4


def is_native() -> bool:
    """Return whether programs can be run in C here, and are meant to be."""
    return _BUILT and not is_pure()


def native_runner(program: Program) -> Callable[[pa.BinaryArray], Decoded]:
    """Return what runs a program over payloads."""
    lists = [place for step in program.steps for place in step.children]
    lists += [place for builder in program.builders for place in builder.children]
    compiled = _interpreter.compile_program(
        _packed([n for s in program.steps for n in (s.op, s.builder, s.a, s.b, s.c, s.d, len(s.children))]),
        _packed([n for b in program.builders for n in (b.kind, b.width, b.is_nullable, len(b.children))]),
        _packed([*lists, *program.columns]),
        _packed([len(constant) for constant in program.constants]),
        b"".join(program.constants),
    )

    def run(payloads: pa.BinaryArray) -> Decoded:
        built, flagged = _interpreter.run_program(compiled, *views_of(payloads))
        arrays = [array_of(program.builders, built, place) for place in program.columns]
        numbers = array("q", flagged)
        faults = tuple(
            Fault(numbers[at], reason_of(program, *numbers[at + 1 : at + _FAULT_NUMBERS]))
            for at in range(0, len(numbers), _FAULT_NUMBERS)
        )
        return Decoded(batch_of(arrays, program.schema, len(payloads)), faults)

    return run


def _packed(numbers: Sequence[int]) -> bytes:
    return array("q", numbers).tobytes()
