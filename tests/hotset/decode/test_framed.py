"""Records that name their schema are decoded each by its own, and come back in their order.

The bodies are JSON, so that what is tested is what is around them.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest

from hotset.decode.decoded import Decoded
from hotset.decode.formats import RecordFormat
from hotset.decode.framed import FramedDecoder
from hotset.decode.rows import RowDecoder
from hotset.errors import HotsetError, RegistryUnavailableError, SchemaMismatchError, SchemaNotFoundError
from hotset.registry.registry_client import SchemaRegistry
from hotset.registry.registry_settings import parse_registry
from tests.hotset.raw import raw_records
from tests.hotset.small_registry import SmallRegistry, small_registry

GUID = uuid.UUID("89791762-2336-4186-9674-299b90a802e2")
SCHEMA = pa.schema([pa.field("n", pa.int64()), pa.field("t", pa.string())])
HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))


@pytest.fixture
def server() -> Iterator[SmallRegistry]:
    with small_registry() as running:
        for number in range(1, 6):
            running.knows(f"/schemas/ids/{number}", "{}", "JSON")
        running.knows("/schemas/ids/90", '"string"')
        running.knows(f"/schemas/guids/{GUID}", "{}", "JSON")
        yield running


@pytest.fixture
def registry(server: SmallRegistry) -> SchemaRegistry:
    return SchemaRegistry(parse_registry({"url": server.url}))


def framed(schema_id: int, **fields: object) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + json.dumps(fields).encode()


def decode(
    registry: SchemaRegistry,
    payloads: Sequence[bytes | None],
    headers: Sequence[Sequence[tuple[str, bytes | None]]] | None = None,
    schema: pa.Schema = SCHEMA,
) -> Decoded:
    told = None
    if headers is not None:
        told = pa.array([[{"key": k, "value": v} for k, v in each] for each in headers], HEADERS)
    # A slice, since offsets of a drain's batches need not begin at zero.
    array = pa.array([b"before", *payloads, b"after"], pa.binary()).slice(1, len(payloads))
    decoded = FramedDecoder("json_schema", registry)(array, schema, told)
    assert decoded.rows.schema == schema
    assert decoded.rows.num_rows == len(payloads)
    return decoded


def numbers(decoded: Decoded) -> list[int | None]:
    return decoded.rows["n"].to_pylist()


def test_one_schema_decodes_all_of_its_records(server: SmallRegistry, registry: SchemaRegistry) -> None:
    decoded = decode(registry, [framed(1, n=n, t="x") for n in range(50)])

    assert numbers(decoded) == list(range(50))
    assert server.asked == ["/schemas/ids/1"]


def test_several_schemas_in_one_batch_keep_the_order(server: SmallRegistry, registry: SchemaRegistry) -> None:
    decoded = decode(registry, [framed(1 + n * 7 % 5, n=n) for n in range(50)])

    assert numbers(decoded) == list(range(50))
    assert sorted(server.asked) == [f"/schemas/ids/{number}" for number in range(1, 6)]


def test_bad_frames_are_faults_and_the_others_are_rows(registry: SchemaRegistry) -> None:
    payloads = [framed(1, n=0), b"", b'{"n": 2}', b"\0\0\0", framed(2, n=4), b"\0\0\0\0\1", framed(1, n=6)]

    decoded = decode(registry, payloads)

    assert numbers(decoded) == [0, None, None, None, 4, None, 6]
    assert [(fault.row, fault.reason) for fault in decoded.faults] == [
        (1, "its value is empty, without a frame"),
        (2, "its value begins with the byte 0x7b, and a frame begins with 0x00"),
        (3, "its value has 3 bytes, and a frame alone has 5"),
        (5, "its value is not one JSON document (Expecting value: line 1 column 1 (char 0))"),
    ]


def test_bad_frames_and_nulls_do_not_move_the_rows_of_the_one_schema(registry: SchemaRegistry) -> None:
    payloads = [None, b"", framed(1, n=2), b"\0\0\0\0\1", None, framed(1, n=5), b"\1", framed(1, n=7)]

    decoded = decode(registry, payloads)

    assert numbers(decoded) == [None, None, 2, None, None, 5, None, 7]
    assert [fault.row for fault in decoded.faults] == [1, 3, 6]


def test_a_schema_that_makes_no_rows_is_the_fault_of_its_own_records_only(registry: SchemaRegistry) -> None:
    payloads = pa.array([None, framed(90, n=1), b"", framed(90, n=3), None], pa.binary())

    decoded = FramedDecoder("json_schema", registry, isolates=True)(payloads, SCHEMA)

    assert numbers(decoded) == [None] * 5
    assert [(fault.row, "empty" in fault.reason) for fault in decoded.faults] == [
        (1, False),
        (2, True),
        (3, False),
    ]


def test_a_null_payload_is_a_row_of_nulls(registry: SchemaRegistry) -> None:
    decoded = decode(registry, [None, framed(1, n=1), None])

    assert (numbers(decoded), decoded.faults) == ([None, 1, None], ())


@pytest.mark.parametrize("payloads", [[], [None], [b"x"], [framed(1, n=1)], [framed(1), framed(2), None]])
def test_no_column_is_as_many_rows(registry: SchemaRegistry, payloads: list[bytes | None]) -> None:
    decode(registry, payloads, schema=pa.schema([]))


def test_an_id_or_identity_in_a_header_is_taken_before_the_payload(registry: SchemaRegistry) -> None:
    bare = [json.dumps({"n": n}).encode() for n in range(4)]
    name, by_id, by_guid = "__value_schema_id", b"\0\0\0\0\1", b"\1" + GUID.bytes
    headers: list[list[tuple[str, bytes | None]]] = [
        [("trace", b"x"), (name, by_id)],
        [(name, by_guid), (name, b"the second of a name does not count")],
        [("__key_schema_id", by_id)],
        [(name, None)],
    ]

    decoded = decode(registry, [bare[0], bare[1], framed(2, n=2), framed(3, n=3)], headers)

    assert (numbers(decoded), decoded.faults) == ([0, 1, 2, 3], ())


@pytest.mark.parametrize("told", [b"", b"\0\0\0", b"\2\0\0\0\1", b"\1" + GUID.bytes[:15], b"\0\0\0\0\1\0"])
def test_a_header_that_names_no_schema_is_a_fault(registry: SchemaRegistry, told: bytes) -> None:
    decoded = decode(registry, [framed(1, n=0), framed(1, n=1)], [[("__value_schema_id", told)], []])

    assert numbers(decoded) == [None, 1]
    assert [fault.reason for fault in decoded.faults] == [
        f"its header __value_schema_id of {len(told)} bytes does not name a schema"
    ]


def test_headers_of_a_slice_belong_to_their_records(registry: SchemaRegistry) -> None:
    header = {"key": "__value_schema_id", "value": b"\0\0\0\0\1"}
    headers = pa.array([[header, header], [], [header], []], HEADERS).slice(1, 3)
    payloads = pa.array([framed(2, n=1), b'{"n": 2}', framed(2, n=3)], pa.binary())

    assert numbers(FramedDecoder("json_schema", registry)(payloads, SCHEMA, headers)) == [1, 2, 3]


def rows_of(registry: SchemaRegistry, payloads: Sequence[bytes | None]) -> pa.RecordBatch:
    raw = raw_records(payloads)
    none = pa.array([[]] * len(payloads), HEADERS)
    raw = pa.RecordBatch.from_arrays([*raw.columns, none], names=[*raw.schema.names, "headers"])
    decoder = RowDecoder(RecordFormat("json_schema"), SCHEMA, {}, "orders", registry=registry)
    assert decoder.needs_headers
    return decoder.decode(raw).rows


def failure(registry: SchemaRegistry, *payloads: bytes | None) -> HotsetError:
    with pytest.raises(HotsetError) as caught:
        rows_of(registry, payloads)
    return caught.value


def test_an_unknown_id_is_an_error_that_names_the_first_record(
    server: SmallRegistry, registry: SchemaRegistry
) -> None:
    error = failure(registry, framed(1), None, framed(77), framed(77))

    assert isinstance(error, SchemaNotFoundError)
    assert "does not know schema id 77" in str(error)
    assert server.url in str(error)
    assert "'orders' partition 3 offset 102" in str(error)
    assert error.details["offset"] == 102


def test_a_schema_of_another_format_is_an_error(registry: SchemaRegistry) -> None:
    error = failure(registry, framed(1), framed(90))

    assert isinstance(error, SchemaMismatchError)
    assert "schema id 90 is Avro, and the table's value format is 'json_schema'" in str(error)
    assert "offset 101" in str(error)


def test_with_the_registry_down_what_was_read_before_is_still_read(
    server: SmallRegistry, registry: SchemaRegistry
) -> None:
    rows_of(registry, [framed(1, n=1)])
    server.stop()

    assert rows_of(registry, [framed(1, n=2)])["n"].to_pylist() == [2]
    assert isinstance(failure(registry, framed(1), framed(2)), RegistryUnavailableError)
