"""Which Avro type may become which column, cell by cell, on both paths.

What is not in the table is refused before any record is read; what is in it gives the
value, or flags it where the column cannot hold exactly that value.
"""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from hotset.decode.avro.avro_compiler import compile_program
from hotset.decode.avro.conversions import CONVERSIONS
from hotset.errors import SchemaMismatchError, UnsupportedFormatError
from tests.fuzz.avro_bytes import counted, number
from tests.hotset.avro_cells import AVRO, CELLS, COLUMNS, NESTED, RANGE, ROUNDED, UUID, fixed, logical
from tests.hotset.avro_records import PATHS, Runner, decode, reasons, record_of, rows, schema_of


def cell(runner: Runner, avro: Any, wanted: pa.DataType, data: bytes) -> Any:
    decoded = decode(runner, record_of(("c", avro)), pa.schema([("c", wanted)]), [data])
    return reasons(decoded)[0][1] if decoded.faults else decoded.rows.column("c")[0].as_py()


@pytest.mark.parametrize("runner", PATHS)
@pytest.mark.parametrize(("avro", "column", "data", "value"), CELLS)
def test_a_value_is_what_it_says_or_flagged(
    runner: Runner, avro: str, column: str, data: bytes, value: Any
) -> None:
    found = cell(runner, AVRO[avro], COLUMNS[column], data)

    if isinstance(value, str) and isinstance(found, str) and found.startswith("column "):
        assert found.startswith("column 'c' ")
        assert value in found
    else:
        assert found == value


@pytest.mark.parametrize("avro", AVRO)
@pytest.mark.parametrize("column", COLUMNS)
def test_what_the_table_does_not_have_is_refused_before_any_record_is_read(avro: str, column: str) -> None:
    tried = {(avro, column) for avro, column, *_ in CELLS}
    writer, columns = schema_of(record_of(("c", AVRO[avro]))), pa.schema([("c", COLUMNS[column])])

    if (avro, column) in tried:
        compile_program(writer, columns)
    else:
        with pytest.raises(SchemaMismatchError, match=r"column 'c' wants .* correct the table's schema"):
            compile_program(writer, columns)


def test_the_table_has_the_cells_that_are_tried_here() -> None:
    table = {(avro, column) for avro, cells in CONVERSIONS.items() for column in cells}

    assert table | set(NESTED.items()) == {(avro, column) for avro, column, *_ in CELLS}


@pytest.mark.parametrize("runner", PATHS)
@pytest.mark.parametrize("wanted", COLUMNS.values(), ids=str)
@pytest.mark.parametrize("null_first", [True, False])
def test_null_is_null_in_every_column(runner: Runner, wanted: pa.DataType, null_first: bool) -> None:
    [avro] = {column: avro for avro, column, *_ in CELLS if COLUMNS[column] == wanted}.values()
    union = ["null", AVRO[avro]] if null_first else [AVRO[avro], "null"]

    assert cell(runner, union, wanted, number(not null_first)) is None
    assert cell(runner, "null", wanted, b"") is None


@pytest.mark.parametrize("runner", PATHS)
@pytest.mark.parametrize("size", [17, 15])
def test_a_fixed_of_another_size_is_no_uuid(runner: Runner, size: int) -> None:
    with pytest.raises(SchemaMismatchError, match=rf"'c' wants .*uuid.* fixed of {size} bytes"):
        cell(runner, fixed(size), pa.uuid(), bytes(size))


@pytest.mark.parametrize("runner", PATHS)
def test_uuids_are_parts_of_columns_and_keys_that_differ(runner: Runner) -> None:
    text, keys = str(UUID).encode(), {"type": "map", "values": "string"}
    wanted = pa.map_(pa.uuid(), pa.list_(pa.uuid()))
    lists = {"type": "map", "values": {"type": "array", "items": "string"}}
    entry = counted(text) + number(1) + counted(text.upper()) + b"\0"

    assert cell(runner, lists, wanted, number(1) + entry + b"\0") == [(UUID, [UUID])]
    twice = number(2) + 2 * counted(text) + counted(text.upper()) + counted(text) + b"\0"
    assert "holds a key twice" in cell(runner, keys, pa.map_(pa.uuid(), pa.uuid()), twice)


@pytest.mark.parametrize("runner", PATHS)
def test_nan_is_a_number_that_is_none(runner: Runner) -> None:
    for avro, column, code in [
        ("float", "double", "<f"),
        ("double", "float", "<d"),
        ("double", "double", "<d"),
    ]:
        assert math.isnan(cell(runner, AVRO[avro], COLUMNS[column], struct.pack(code, math.nan)))


@pytest.mark.parametrize("runner", PATHS)
@pytest.mark.parametrize(
    ("theirs", "ours", "unscaled", "value"),
    [
        ((38, 0), (38, 0), 10**38 - 1, Decimal(10**38 - 1)),
        ((38, 0), (38, 0), 1 - 10**38, Decimal(1 - 10**38)),
        ((38, 0), (38, 0), 10**38, RANGE),
        ((38, 38), (38, 38), -1, Decimal("-1E-38")),
        ((10, 2), (38, 30), 12345, Decimal("123.45")),
        ((10, 2), (12, 4), 10**8 - 1, Decimal("999999.99")),
        ((10, 2), (12, 4), 10**10, RANGE),
        ((20, 4), (10, 2), 1234500, Decimal("123.45")),
        ((20, 4), (10, 2), 1234501, ROUNDED),
        ((20, 4), (10, 2), 10**12, RANGE),
        # Longer than a column's number while it is still to be divided.
        ((60, 30), (38, 2), 123 * 10**40, Decimal(123 * 10**10)),
        ((60, 30), (38, 2), -123 * 10**70, RANGE),
        ((60, 60), (38, 2), 0, Decimal("0.00")),
        ((60, 60), (38, 2), 1, ROUNDED),
    ],
)
def test_a_decimal_fits_exactly_or_is_flagged(
    runner: Runner, theirs: tuple[int, int], ours: tuple[int, int], unscaled: int, value: Any
) -> None:
    avro = logical("bytes", "decimal", precision=theirs[0], scale=theirs[1])
    data = counted(unscaled.to_bytes(40, signed=True))

    found = cell(runner, avro, pa.decimal128(*ours), data)

    assert found == value if isinstance(value, Decimal) else value in found


@pytest.mark.parametrize(
    ("avro", "plain", "data", "value"),
    [
        (logical("int", "timestamp-micros"), pa.int32(), number(7), 7),
        (logical("string", "date"), pa.string(), counted(b"x"), "x"),
        (logical("bytes", "decimal", precision=2, scale=3), pa.binary(), counted(b"x"), b"x"),
        (logical("bytes", "decimal", precision=0), pa.binary(), counted(b"x"), b"x"),
        (logical("bytes", "decimal"), pa.binary(), counted(b"x"), b"x"),
        (fixed(2, "decimal", precision=5), pa.binary(2), b"xy", b"xy"),
        (fixed(2, "uuid"), pa.binary(2), b"xy", b"xy"),
        (fixed(2, "duration"), pa.binary(2), b"xy", b"xy"),
        (logical("long", "made-up"), pa.int64(), number(7), 7),
    ],
)
def test_a_logical_type_that_is_none_is_ignored(
    avro: Any, plain: pa.DataType, data: bytes, value: Any
) -> None:
    for runner in [parameter.values[0] for parameter in PATHS]:
        assert cell(runner, avro, plain, data) == value


@pytest.mark.parametrize(
    "wanted", [pa.int8(), pa.large_string(), pa.time32("ms"), pa.timestamp("s"), pa.uint64()]
)
def test_a_column_that_avro_has_no_form_for_is_an_error(wanted: pa.DataType) -> None:
    with pytest.raises(UnsupportedFormatError, match="Avro has no form for a column of type"):
        compile_program(schema_of(record_of(("c", "int"))), pa.schema([("c", wanted)]))


@pytest.mark.parametrize("runner", PATHS)
def test_rows_of_no_columns_are_rows(runner: Runner) -> None:
    decoded = decode(runner, record_of(("c", "int")), pa.schema([]), [b"\2", None, b""])

    assert decoded.rows.num_rows == 3
    assert reasons(decoded) == [(2, "field 'c' ends too early")]


@pytest.mark.parametrize("runner", PATHS)
def test_no_records_are_no_rows(runner: Runner) -> None:
    for avro, column, *_ in CELLS:
        decoded = decode(runner, record_of(("c", AVRO[avro])), pa.schema([("c", COLUMNS[column])]), [])
        assert rows(decoded) == []
