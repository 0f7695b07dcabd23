"""However records of several schemas, bad frames and headers are mixed, each is what it would be alone.

Alone a record takes none of the ways that sort records by schema, so it is the reference.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotset.decode.framed import FramedDecoder
from hotset.registry.registry_client import SchemaRegistry
from hotset.registry.registry_settings import parse_registry
from tests.hotset.small_registry import small_registry

GUID = uuid.UUID(int=7)
# Bytes of ids that are no text, or end one.
IDS = [0, 1, 10, 0x7F, 0x80FF, 0xC3280A00, 0xFFFFFFFF]
SCHEMA = pa.schema([pa.field("n", pa.int64()), pa.field("l", pa.list_(pa.string()))])
HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
NAME = "__value_schema_id"

ids = st.sampled_from([b"\0" + number.to_bytes(4, "big") for number in IDS])
bodies = st.one_of(
    st.builds(
        lambda n, t: json.dumps({"n": n, "l": t}).encode(), st.integers(-9, 9), st.lists(st.text(max_size=3))
    ),
    st.binary(max_size=6),
)
payloads = st.one_of(
    st.none(),
    st.builds(lambda frame, body: frame + body, ids, bodies),
    bodies,
    st.integers(0, 4).map(bytes),
    st.binary(min_size=1, max_size=9).filter(lambda made: made[0] != 0),
)
headers = st.lists(
    st.tuples(
        st.sampled_from([NAME, NAME, "__key_schema_id", "other"]),
        st.one_of(st.none(), ids, st.just(b"\1" + GUID.bytes), st.binary(max_size=3), st.just(b"\2" * 5)),
    ),
    max_size=3,
)
records = st.lists(st.tuples(payloads, headers), max_size=12)


@pytest.fixture(scope="module")
def decoder() -> Iterator[FramedDecoder]:
    with small_registry() as server:
        for number in IDS:
            server.knows(f"/schemas/ids/{number}", "{}", "JSON")
        server.knows(f"/schemas/guids/{GUID}", "{}", "JSON")
        yield FramedDecoder("json_schema", SchemaRegistry(parse_registry({"url": server.url})))


@given(made=records, has_headers=st.booleans())
@settings(max_examples=100, deadline=None)
def test_a_record_is_among_others_what_it_is_alone(
    decoder: FramedDecoder, made: list[tuple[bytes | None, list[tuple[str, bytes | None]]]], has_headers: bool
) -> None:
    values = pa.array([b"x", *(payload for payload, _ in made)], pa.binary())[1:]
    told = [[{"key": k, "value": v} for k, v in each] for _, each in made]
    given_headers = pa.array([[{"key": NAME, "value": b"?"}], *told], HEADERS)[1:] if has_headers else None
    try:
        together = decoder(values, SCHEMA, given_headers)
    except LookupError:
        # A body that begins like a frame names a schema that nobody knows.
        return

    for row in range(len(made)):
        headers_of_it = None if given_headers is None else given_headers[row : row + 1]
        alone = decoder(values[row : row + 1], SCHEMA, headers_of_it)
        assert together.rows.slice(row, 1).to_pylist() == alone.rows.to_pylist()
        assert [f.reason for f in together.faults if f.row == row] == [f.reason for f in alone.faults]
