"""Avro records for tests: bytes made by hand, and decoders on both paths.

A record is the bytes of its fields one after another, so that a test can write down
what no library would write.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

from hotset.decode.avro.avro_compiler import compile_program
from hotset.decode.avro.avro_native import is_native, native_runner
from hotset.decode.avro.avro_program import Program
from hotset.decode.avro.avro_python import python_runner
from hotset.decode.decoded import Decoded
from hotset.registry.registered_schema import RegisteredSchema

Runner = Callable[[Program], Callable[[pa.BinaryArray], Decoded]]

PATHS = [
    pytest.param(
        native_runner,
        id="native",
        marks=pytest.mark.skipif(not is_native(), reason="the interpreter in C was not built"),
    ),
    pytest.param(python_runner, id="python"),
]


def schema_of(tree: Any, references: Sequence[tuple[str, RegisteredSchema]] = ()) -> RegisteredSchema:
    return RegisteredSchema("AVRO", json.dumps(tree), tuple(references))


def record_of(*fields: tuple[str, Any], name: str = "r") -> dict[str, Any]:
    """A record's schema out of names and types; a field that is a dict already stays as it is."""
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": field, "type": kind} for field, kind in fields],
    }


def decode(
    runner: Runner, tree: Any, columns: pa.Schema, payloads: Sequence[bytes | None], newest: Any = None
) -> Decoded:
    reader = None if newest is None else schema_of(newest)
    program = compile_program(schema_of(tree), columns, reader)
    decoded = runner(program)(pa.array(payloads, pa.binary()))
    decoded.rows.validate(full=True)
    assert decoded.rows.schema == columns
    return decoded


def rows(decoded: Decoded) -> list[dict[str, Any]]:
    """The rows, of records that are all good."""
    assert decoded.faults == ()
    found: list[dict[str, Any]] = decoded.rows.to_pylist()
    return found


def reasons(decoded: Decoded) -> list[tuple[int, str]]:
    return [(fault.row, fault.reason) for fault in decoded.faults]
