"""Records that mean harm: each is flagged, in bounded time and memory, and its neighbours are rows.

Nothing here is what a library would write; the bytes are made by hand.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import pyarrow as pa
import pytest

from hotset.decode.avro.avro_compiler import compile_program
from hotset.decode.avro.avro_program import MAX_EMPTY_ITEMS, MAX_NESTING
from hotset.errors import SchemaMismatchError
from tests.fuzz.avro_bytes import counted, number
from tests.hotset.avro_records import PATHS, Runner, decode, reasons, record_of, schema_of

LONG, TEXT = pa.int64(), pa.string()
ITEMS = {"type": "array", "items": "long"}
EMPTY = {"type": "array", "items": "null"}
PAIRS = {"type": "map", "values": "string"}
HUGE = number(2**62)
ENDLESS = b"\xff" * 9

# A field's type, its column, and what is wrong with which bytes.
HOSTILE: list[tuple[Any, pa.DataType, bytes, str]] = [
    ("long", LONG, b"", "ends too early"),
    ("long", LONG, b"\x80", "ends too early"),
    ("long", LONG, ENDLESS + b"\xff\x01", "holds a number longer than any number is"),
    ("long", LONG, ENDLESS + b"\x02", "holds a number longer than any number is"),
    ("long", LONG, b"\2\2", "its value goes on for 1 bytes after its last field"),
    ("string", TEXT, number(5) + b"four", "ends too early"),
    ("string", TEXT, HUGE, "ends too early"),
    ("string", TEXT, number(-1), "says that its length is -1"),
    ("string", TEXT, number(-(2**63)), "says that its length is -9223372036854775808"),
    ("double", pa.float64(), b"seven..", "ends too early"),
    ("boolean", pa.bool_(), b"", "ends too early"),
    (["null", "long"], LONG, number(2), "holds branch 2 of a union that has no such branch"),
    (["null", "long"], LONG, number(-1), "holds branch -1 of a union that has no such branch"),
    ([], LONG, number(0), "holds branch 0 of a union that has no such branch"),
    (
        ITEMS,
        pa.list_(LONG),
        HUGE + b"\2\2\0",
        "says that it has 4611686018427387904 items, and has fewer bytes",
    ),
    (ITEMS, pa.list_(LONG), number(3) + b"\2\2", "says that it has 3 items, and has fewer bytes"),
    (ITEMS, pa.list_(LONG), number(2) + b"\2\2", "ends too early"),
    (
        ITEMS,
        pa.list_(LONG),
        number(-1) + number(2) + b"\2\0",
        "a block whose items are not as long as it says",
    ),
    (
        ITEMS,
        pa.list_(LONG),
        number(-1) + number(0) + b"\2\0",
        "a block whose items are not as long as it says",
    ),
    (
        ITEMS,
        pa.list_(LONG),
        number(-1) + number(-1) + b"\2\0",
        "a block whose items are not as long as it says",
    ),
    (ITEMS, pa.list_(LONG), number(-1) + HUGE + b"\2\0", "a block whose items are not as long as it says"),
    (ITEMS, pa.list_(LONG), number(-(2**63)) + number(1) + b"\2\0", "items, and has fewer bytes"),
    (EMPTY, pa.list_(LONG), HUGE + b"\0", "has more than 65536 items without a byte in them"),
    (EMPTY, pa.list_(LONG), (number(2**15) * 3) + b"\0", "has more than 65536 items without a byte in them"),
    (
        EMPTY,
        pa.list_(pa.field("element", LONG, nullable=False)),
        b"\2\0",
        "is required, and is absent or null",
    ),
    (
        PAIRS,
        pa.map_(TEXT, TEXT),
        number(1) + counted(b"\xff") + counted(b"v") + b"\0",
        "text that is not UTF-8",
    ),
    (
        PAIRS,
        pa.map_(TEXT, TEXT),
        number(1) + counted(b"k") + number(-3) + b"\0",
        "says that its length is -3",
    ),
    (
        PAIRS,
        pa.map_(TEXT, TEXT),
        number(100) + b"".join(counted(b"%d" % (n % 99)) + counted(b"") for n in range(100)) + b"\0",
        "holds a key twice",
    ),
    (
        record_of(("x", "long"), ("y", "string"), name="in"),
        pa.struct([("x", LONG), ("y", TEXT)]),
        b"\2\2",
        "ends",
    ),
]


@pytest.mark.parametrize("runner", PATHS)
@pytest.mark.parametrize(("avro", "wanted", "data", "reason"), HOSTILE)
def test_a_hostile_value_is_flagged_and_its_neighbours_are_rows(
    runner: Runner, avro: Any, wanted: pa.DataType, data: bytes, reason: str
) -> None:
    writer = record_of(
        ("first", "string"), ("c", ["null", avro] if isinstance(avro, dict) else avro), ("n", "long")
    )
    if isinstance(avro, dict):
        data = number(1) + data
    writer = record_of(("n", "string"), ("o", ["null", "long"]), ("c", writer["fields"][1]["type"]))
    columns = pa.schema([("o", LONG), ("c", wanted), ("n", TEXT)])
    good = counted(b"good") + number(1) + number(7)
    bad = counted(b"bad") + number(1) + number(8) + data
    complete = good + (number(0) if isinstance(avro, dict) else b"")

    found = decode(runner, writer, columns, [bad, complete, bad, None])

    assert [row for row, _reason in reasons(found)][:1] == [0]
    assert reason in reasons(found)[0][1]
    assert found.rows.slice(0, 1).to_pylist() == [{"o": None, "c": None, "n": None}]
    if isinstance(avro, dict):
        assert [row for row, _reason in reasons(found)] == [0, 2]
        assert found.rows.slice(1, 1).to_pylist() == [{"o": 7, "c": None, "n": "good"}]


@pytest.mark.parametrize("runner", PATHS)
@pytest.mark.parametrize(("avro", "wanted", "data", "reason"), HOSTILE)
def test_what_is_skipped_is_no_way_around(
    runner: Runner, avro: Any, wanted: pa.DataType, data: bytes, reason: str
) -> None:
    found = decode(runner, record_of(("c", avro)), pa.schema([("other", LONG)]), [data])

    # What a value means is not asked of one that nobody wants.
    is_about_meaning = reason in (
        "text that is not UTF-8",
        "holds a key twice",
        "is required, and is absent or null",
    )
    assert len(found.faults) == (0 if is_about_meaning else 1)


@pytest.mark.parametrize("runner", PATHS)
def test_items_without_bytes_are_counted_over_the_whole_record(runner: Runner) -> None:
    columns = pa.schema([("c", pa.list_(LONG))])
    half = number(MAX_EMPTY_ITEMS // 2)

    found = decode(
        runner, record_of(("c", EMPTY)), columns, [half + half + b"\0", half * 3 + b"\0", half + b"\0"]
    )

    assert [row for row, _reason in reasons(found)] == [1]
    assert [len(row or []) for row in found.rows.column("c").to_pylist()] == [
        MAX_EMPTY_ITEMS,
        0,
        MAX_EMPTY_ITEMS // 2,
    ]


@pytest.mark.parametrize("runner", PATHS)
def test_a_record_nested_in_itself_is_followed_only_so_far(runner: Runner) -> None:
    chain = {"type": "record", "name": "link", "fields": [{"name": "next", "type": ["null", "link"]}]}
    within, beyond = number(1) * (MAX_NESTING - 2) + b"\0", number(1) * 100_000 + b"\0"

    found = decode(runner, record_of(("c", chain)), pa.schema([("n", LONG)]), [within, beyond, b"\0"])

    assert reasons(found) == [(1, "field 'c' is nested more than 200 levels deep")]


@pytest.mark.parametrize("runner", PATHS)
def test_a_record_that_is_made_of_itself_alone_ends(runner: Runner) -> None:
    endless = {
        "type": "record",
        "name": "self",
        "fields": [{"name": "a", "type": "self"}, {"name": "b", "type": "self"}],
    }

    found = decode(runner, record_of(("c", endless)), pa.schema([("n", LONG)]), [b""])

    assert "nested more than 200 levels deep" in reasons(found)[0][1]


@pytest.mark.parametrize("runner", PATHS)
def test_what_has_no_bytes_is_skipped_without_being_walked(runner: Runner) -> None:
    fields: list[Any] = [("x0", record_of(name="n0"))]
    fields += [
        (f"x{n}", record_of(("a", f"n{n - 1}"), ("b", f"n{n - 1}"), name=f"n{n}")) for n in range(1, 60)
    ]

    found = decode(runner, record_of(*fields), pa.schema([("n", LONG)]), [b"", b"\0"])

    assert reasons(found) == [(1, "its value goes on for 1 bytes after its last field")]


def test_a_chain_of_records_too_long_to_follow_is_a_mismatch() -> None:
    fields: list[Any] = [("x0", record_of(("a", "long"), name="n0"))]
    fields += [(f"x{n}", record_of(("a", f"n{n - 1}"), name=f"n{n}")) for n in range(1, 3000)]

    with pytest.raises(SchemaMismatchError, match="nested too deeply"):
        compile_program(
            schema_of(record_of(*reversed([("y", {"type": "array", "items": "n2999"}), *reversed(fields)]))),
            pa.schema([("n", LONG)]),
        )


@pytest.mark.parametrize("runner", PATHS)
def test_a_lie_about_length_costs_no_memory(runner: Runner) -> None:
    columns = pa.schema([("c", pa.list_(TEXT))])
    payloads = [HUGE + b"\0", number(2**31) + number(2**40), number(1) + number(2**40)] * 100
    before = pa.total_allocated_bytes()
    tracemalloc.start()

    found = decode(runner, record_of(("c", {"type": "array", "items": "string"})), columns, payloads)

    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.faults) == len(payloads)
    assert peak + pa.total_allocated_bytes() - before < 8 << 20


@pytest.mark.parametrize("runner", PATHS)
def test_what_a_fault_has_written_is_taken_back_from_nested_columns(runner: Runner) -> None:
    inner = record_of(("k", "string"), ("v", {"type": "array", "items": ["null", "boolean"]}), name="in")
    writer = record_of(("a", {"type": "array", "items": ["null", inner]}), ("m", PAIRS), ("end", "boolean"))
    columns = pa.schema(
        [
            ("a", pa.list_(pa.struct([("k", TEXT), ("v", pa.list_(pa.bool_()))]))),
            ("m", pa.map_(TEXT, TEXT)),
            ("end", pa.bool_()),
        ]
    )
    item = number(1) + counted(b"key") + number(3) + b"\0" + b"\2\1" + b"\2\0" + b"\0"
    record = number(2) + item + number(0) + b"\0" + number(1) + counted(b"k") + counted(b"v") + b"\0" + b"\1"
    cut = [record[:size] for size in range(len(record))]

    found = decode(runner, writer, columns, [x for each in cut for x in (each, record)])

    row = {"a": [{"k": "key", "v": [None, True, False]}, None], "m": [("k", "v")], "end": True}
    nothing = {"a": None, "m": None, "end": None}
    assert [fault.row for fault in found.faults] == list(range(0, 2 * len(cut), 2))
    assert found.rows.to_pylist() == [nothing, row] * len(cut)
