"""The interpreter in C as a module: what it is given, what it refuses, and doing without it.

What records mean is tested elsewhere, on both paths.
"""

from __future__ import annotations

from array import array

import pyarrow as pa
import pytest

from hotset.decode.avro.avro_compiler import compile_avro, compile_program
from hotset.decode.avro.avro_native import is_native
from hotset.native.availability import PURE
from tests.fuzz.avro_bytes import number
from tests.hotset.avro_records import PATHS, Runner, reasons, record_of, schema_of

LONG = pa.int64()


@pytest.mark.parametrize("runner", PATHS)
def test_a_slice_of_payloads_is_decoded_as_a_slice(runner: Runner) -> None:
    program = compile_program(schema_of(record_of(("n", "long"))), pa.schema([("n", LONG)]))
    payloads = pa.array([number(n) if n % 3 else None for n in range(50)] + [b"bad"], pa.binary())

    for start, length in [(0, 51), (7, 20), (9, 1), (50, 1), (51, 0)]:
        found = runner(program)(payloads.slice(start, length))
        assert found.rows.column("n").to_pylist() == [
            n if n % 3 and n < 50 else None for n in range(start, start + length)
        ]
        assert [fault.row for fault in found.faults] == ([50 - start] if start <= 50 < start + length else [])


def test_without_the_extension_the_same_is_done_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PURE, "1")

    found = compile_avro(schema_of(record_of(("n", "long"))), pa.schema([("n", LONG)]))(
        pa.array([number(3), b""])
    )

    assert not is_native()
    assert found.rows.to_pylist() == [{"n": 3}, {"n": None}]
    assert reasons(found) == [(1, "column 'n' ends too early")]


@pytest.mark.skipif(not is_native(), reason="the interpreter in C was not built")
@pytest.mark.parametrize(
    ("steps", "shapes", "lists", "wrong"),
    [
        ([], [], [], "no steps"),
        ([[99, -1, 0, 0, 0, 0, 0]], [], [], "cut short"),
        ([[5, -1, 0, 0, 0, 0, 1]], [], [], "cut short"),
        ([[5, -1, 0, 0, 0, 0, 1]], [], [0], "cannot be run"),
        ([[5, -1, 0, 0, 0, 0, 1]], [], [7], "cannot be run"),
        ([[7, -1, 0, 0, 0, 0, 0]], [], [], "cannot be run"),
        ([[7, -1, 1 << 40, 0, 0, 0, 0]], [], [], "cannot be run"),
        ([[2, -1, -1, 0, 0, 0, 0]], [], [], "cannot be run"),
        ([[10, 0, 0, 1, 1, 1, 0]], [], [], "cannot be run"),
        ([[10, 0, 0, 1, 1, 1, 0]], [[2, 0, 1, 0]], [], "cannot be run"),
        ([[10, 0, 0, 1, 1, 0, 0]], [[1, 8, 1, 0]], [], "cannot be run"),
        ([[16, 0, 9, 0, 0, 0, 0]], [[1, 8, 1, 0]], [], "cannot be run"),
        ([[17, 0, 9, 0, 39, 0, 0]], [[1, 16, 1, 0]], [], "cannot be run"),
        ([[18, 0, 0, 1, 0, 0, 0]], [[2, 0, 1, 0]], [], "cannot be run"),
        ([[24, 0, 0, 0, 0, 0, 0]], [[2, 0, 1, 0]], [], "cannot be run"),
        ([[0, -1, 0, 0, 0, 0, 0]], [[3, 0, 1, 1]], [0], "no shape"),
        ([[0, -1, 0, 0, 0, 0, 0]], [[3, 0, 1, 0]], [], "no shape"),
        ([[0, -1, 0, 0, 0, 0, 0]], [[1, -1, 1, 0]], [], "no shape"),
        ([[0, -1, 0, 0, 0, 0, 0]], [], [3], "no builder"),
    ],
)
def test_a_program_that_could_do_harm_is_not_run(
    steps: list[list[int]], shapes: list[list[int]], lists: list[int], wrong: str
) -> None:
    from hotset.decode.avro import _interpreter

    packed = [
        array("q", [number for row in table for number in row]).tobytes()
        for table in (steps, shapes, [lists])
    ]

    with pytest.raises(ValueError, match=wrong):
        _interpreter.compile_program(*packed, b"", b"")
