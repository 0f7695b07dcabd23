"""Avro records to Arrow, by the schema that each record was written with.

`avro_schema` parses, `avro_plan` writes a program for the columns wanted, and one of two
interpreters runs it: C where the extension was built, else Python, with the same
result. Nothing here must know of frames, registries or topics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa

from hotset.decode.avro.avro_native import is_native, native_runner
from hotset.decode.avro.avro_plan import plan_program
from hotset.decode.avro.avro_program import Program
from hotset.decode.avro.avro_python import python_runner
from hotset.decode.avro.avro_schema import parse_schema
from hotset.decode.avro.match_schemas import Known
from hotset.decode.decoded import Decoded
from hotset.errors import SchemaMismatchError
from hotset.registry import RegisteredSchema

__all__ = ["compile_avro"]


def compile_avro(
    writer: RegisteredSchema,
    schema: pa.Schema,
    reader: RegisteredSchema | None = None,
    lone: str | None = None,
    known: Known = (),
) -> Callable[[pa.BinaryArray], Decoded]:
    """Return the decoder of bodies that were written with one schema.

    Args:
        writer: The schema, with what it refers to.
        schema: The columns wanted, which are matched to fields by name.
        reader: The newest schema of the subject, whose aliases and defaults count.
        lone: The column that a value fills which is no record but a string, say, as keys often are.
        known: All columns there are, where `schema` has only some, by the path of what they are in; a
            field fills the same one whichever are wanted.

    Raises:
        SchemaMismatchError: No record of the schema can be a row.
        UnsupportedFormatError: A column's type has no form in Avro.
    """
    program = compile_program(writer, schema, reader, lone, known)
    run = native_runner(program) if is_native() else python_runner(program)

    def decode(bodies: pa.BinaryArray) -> Decoded:
        found = run(bodies)
        is_there = bodies.null_count + len(found.faults) < len(bodies)
        return replace(found, unmapped=program.unmapped) if is_there else found

    return decode


def compile_program(
    writer: RegisteredSchema,
    schema: pa.Schema,
    reader: RegisteredSchema | None = None,
    lone: str | None = None,
    known: Known = (),
) -> Program:
    """Return what either interpreter runs.

    Raises:
        SchemaMismatchError: No record of the schema can be a row.
        UnsupportedFormatError: A column's type has no form in Avro.
    """
    try:
        newest = parse_schema(reader) if reader else None
        return plan_program(parse_schema(writer), schema, newest, lone, known)
    except RecursionError:
        raise SchemaMismatchError(
            "the Avro schema of a record is nested too deeply to be read; register a flatter one"
        ) from None
