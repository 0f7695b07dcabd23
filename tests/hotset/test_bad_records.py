"""A bad record never takes others with it and is never silently wrong, in every format and policy.

Each case puts one bad record among good ones and looks at what the row decoder makes of them;
how statements show it is told in the suite of the same name beside the engines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest

from hotset.decode import LETTERS, MARKS, BadRecord, BadRecords, DecodedRows, RowDecoder
from hotset.errors import DecodeError, SchemaMismatchError, SchemaNotFoundError
from hotset.registry import SchemaRegistry
from tests.hotset.bad_payloads import CASES, FORMATS, SCHEMA, Payloads, registry
from tests.hotset.raw import raw_records

KAFKA_COLUMNS = {"kafka_offset": "offset"}
WHOLE = pa.schema([*SCHEMA, pa.field("kafka_offset", pa.int64(), nullable=False)])
NULLABLE = pa.schema([*(pa.field(found.name, found.type) for found in WHOLE), *MARKS])


@pytest.fixture(scope="module", autouse=True)
def schemas() -> Iterator[None]:
    """What the records' schema ids mean, for the whole file."""
    with registry() as running:
        KNOWN.append(running)
        yield
    KNOWN.clear()


KNOWN: list[SchemaRegistry] = []


def decoder(payloads: Payloads, policy: BadRecords, *columns: str, tombstones: bool = False) -> RowDecoder:
    answer = NULLABLE if policy is BadRecords.NULL else WHOLE
    return RowDecoder(
        replace(payloads.record_format, bad_records=policy, skips_tombstones=tombstones),
        pa.schema([answer.field(name) for name in columns or answer.names]),
        KAFKA_COLUMNS,
        "orders",
        whole=WHOLE,
        keeps_letters=policy is BadRecords.DEAD_LETTER,
        registry=KNOWN[0],
    )


def decoded(name: str, wrong: str, policy: BadRecords, *columns: str) -> DecodedRows:
    """Three good records, of which the second is followed by a bad one: offsets 100 to 103."""
    payloads = FORMATS[name]
    values = [payloads.good(0), payloads.good(1), bad_of(name, wrong)[0], payloads.good(3)]
    return decoder(payloads, policy, *columns).decode(with_more(raw_records(values)))


def bad_of(name: str, wrong: str) -> tuple[bytes, str]:
    """The bad record, and a word of the reason."""
    return {**FORMATS[name].bad, **FORMATS[name].misfits}[wrong]


def with_more(raw: pa.RecordBatch) -> pa.RecordBatch:
    """The same records with keys and headers, as a drain gives them if asked."""
    count = raw.num_rows
    headers = [[{"key": "h", "value": b"%d" % n}] for n in range(count)]
    more = {
        "key": pa.array([b"k%d" % n for n in range(count)], pa.binary()),
        "timestamp_type": pa.array([0] * count, pa.int32()),
        "headers": pa.array(headers, LETTERS.field("headers").type),
    }
    return pa.RecordBatch.from_arrays([*raw.columns, *more.values()], names=[*raw.schema.names, *more])


GOOD = [{"id": n, "note": f"n{n}", "at": {"x": n}, "kafka_offset": 100 + n} for n in (0, 1, 3)]


@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_fail_names_the_record_and_the_reason(name: str, wrong: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decoded(name, wrong, BadRecords.FAIL)

    assert "topic 'orders' partition 3 offset 102" in str(caught.value)
    assert bad_of(name, wrong)[1] in str(caught.value)
    assert isinstance(caught.value, SchemaMismatchError) == (wrong in FORMATS[name].misfits)
    assert (caught.value.details["partition"], caught.value.details["offset"]) == (3, 102)


@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_skip_leaves_out_the_record_and_says_so(name: str, wrong: str) -> None:
    found = decoded(name, wrong, BadRecords.SKIP)

    assert found.rows.to_pylist() == GOOD
    [bad] = found.bad
    assert (bad.partition, bad.offset) == (3, 102)
    assert bad_of(name, wrong)[1] in bad.reason
    assert found.letters is None


@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_null_keeps_a_row_that_says_why(name: str, wrong: str) -> None:
    found = decoded(name, wrong, BadRecords.NULL)

    first, second, bad, last = found.rows.to_pylist()
    marks = {"_kafkaiceberg_partition": 3, "_kafkaiceberg_error": None}
    assert [first, second, last] == [
        {**row, **marks, "_kafkaiceberg_offset": row["kafka_offset"]} for row in GOOD
    ]
    reason = bad.pop("_kafkaiceberg_error")
    assert bad_of(name, wrong)[1] in reason
    assert bad == {
        **dict.fromkeys(SCHEMA.names),
        "kafka_offset": 102,
        "_kafkaiceberg_partition": 3,
        "_kafkaiceberg_offset": 102,
    }
    assert found.bad == (BadRecord(3, 102, reason),)


@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_a_dead_letter_is_the_record_as_it_was(name: str, wrong: str) -> None:
    found = decoded(name, wrong, BadRecords.DEAD_LETTER)

    assert found.rows.to_pylist() == GOOD
    assert found.letters is not None
    assert found.letters.schema == LETTERS
    [letter] = found.letters.drop_columns(["timestamp"]).to_pylist()
    assert bad_of(name, wrong)[1] in letter.pop("error")
    assert letter == {
        "topic": "orders",
        "partition": 3,
        "offset": 102,
        "key": b"k2",
        "value": bad_of(name, wrong)[0],
        "headers": [{"key": "h", "value": b"2"}],
    }
    assert len(found.bad) == 1


@pytest.mark.parametrize("columns", [("id",), ("note",), ("kafka_offset",), ("at", "id")])
@pytest.mark.parametrize("policy", [BadRecords.SKIP, BadRecords.DEAD_LETTER, BadRecords.NULL])
@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_a_record_is_bad_whatever_is_asked_for(
    name: str, wrong: str, policy: BadRecords, columns: tuple[str, ...]
) -> None:
    found = decoded(name, wrong, policy, *columns)

    assert found.rows.schema.names == list(columns)
    assert [bad.offset for bad in found.bad] == [102]
    assert found.rows.num_rows == (4 if policy is BadRecords.NULL else 3)


@pytest.mark.parametrize("name", FORMATS)
def test_only_the_columns_that_are_wanted_are_judged_if_bad_records_are_errors(name: str) -> None:
    found = decoded(name, "overflow inside", BadRecords.FAIL, "kafka_offset")

    assert found.rows.column("kafka_offset").to_pylist() == [100, 101, 102, 103]


@pytest.mark.parametrize("policy", [BadRecords.SKIP, BadRecords.DEAD_LETTER, BadRecords.NULL])
@pytest.mark.parametrize("name", FORMATS)
def test_every_record_may_be_bad(name: str, policy: BadRecords) -> None:
    payloads = FORMATS[name]
    made = decoder(payloads, policy)

    values = [value for value, _ in (*payloads.bad.values(), *payloads.misfits.values())]
    found = made.decode(with_more(raw_records(values)))

    assert [bad.offset for bad in found.bad] == list(range(100, 100 + len(values)))
    assert found.rows.num_rows == (len(values) if policy is BadRecords.NULL else 0)


@pytest.mark.parametrize("policy", list(BadRecords))
def test_a_schema_that_is_not_known_is_an_error_and_no_bad_record(policy: BadRecords) -> None:
    unknown = b"\0" + (99).to_bytes(4, "big") + b"{}"

    with pytest.raises(SchemaNotFoundError, match="offset 100"):
        decoder(FORMATS["json_schema"], policy).decode(with_more(raw_records([unknown])))


@pytest.mark.parametrize("policy", list(BadRecords))
@pytest.mark.parametrize("name", FORMATS)
def test_a_tombstone_is_no_bad_record(name: str, policy: BadRecords) -> None:
    payloads = FORMATS[name]
    raw = with_more(raw_records([payloads.good(0), None]))

    with pytest.raises(DecodeError, match=r"offset 101 .*tombstones=skip"):
        decoder(payloads, policy).decode(raw)
    found = decoder(payloads, policy, tombstones=True).decode(raw)
    assert (found.rows.num_rows, found.tombstones, found.bad) == (1, 1, ())


@pytest.mark.parametrize("policy", list(BadRecords))
@pytest.mark.parametrize("name", FORMATS)
def test_good_records_are_the_same_under_every_policy(name: str, policy: BadRecords) -> None:
    payloads = FORMATS[name]
    raw = with_more(raw_records([payloads.good(n) for n in (0, 1, 2, 3)]))

    found = decoder(payloads, policy).decode(raw)

    assert found.rows.select(WHOLE.names).filter([True, True, False, True]).to_pylist() == GOOD
    assert found.bad == ()
