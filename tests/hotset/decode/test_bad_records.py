"""A bad record never takes others with it and is never silently wrong, in every format and policy.

Each case puts one bad record among good ones and looks at what the row decoder makes of them;
how statements show it is told in the suite of the same name beside the engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from uuid import UUID

import pyarrow as pa
import pytest

from hotset.decode.bad_records import LETTERS, MARKS, BadRecord, BadRecords
from hotset.decode.rows import DecodedRows, RowDecoder
from hotset.errors import DecodeError, SchemaMismatchError, SchemaNotFoundError
from hotset.registry.registry_client import SchemaRegistry
from tests.hotset.bad_payloads import CASES, FORMATS, Payloads, Record
from tests.hotset.bad_schemas import registry
from tests.hotset.raw import raw_records

KAFKA_COLUMNS = {"kafka_offset": "offset"}
OFFSET = pa.field("kafka_offset", pa.int64(), nullable=False)


@pytest.fixture(scope="module", autouse=True)
def schemas() -> Iterator[None]:
    """What the records' schema ids mean, for the whole file."""
    with registry() as running:
        KNOWN.append(running)
        yield
    KNOWN.clear()


KNOWN: list[SchemaRegistry] = []


def decoder(payloads: Payloads, policy: BadRecords, *columns: str, tombstones: bool = False) -> RowDecoder:
    whole = pa.schema([*payloads.schema, OFFSET])
    nullable = pa.schema([*(pa.field(found.name, found.type) for found in whole), *MARKS])
    answer = nullable if policy is BadRecords.NULL else whole
    return RowDecoder(
        replace(payloads.record_format, bad_records=policy, skips_tombstones=tombstones),
        pa.schema([answer.field(name) for name in columns or answer.names]),
        KAFKA_COLUMNS,
        "orders",
        whole=whole,
        keeps_letters=policy is BadRecords.DEAD_LETTER,
        registry=KNOWN[0],
    )


def decoded(name: str, wrong: str, policy: BadRecords, *columns: str) -> DecodedRows:
    """Three good records, of which the second is followed by a bad one: offsets 100 to 103."""
    payloads = FORMATS[name]
    good = [payloads.record(number) for number in (0, 1, 3)]
    records = [*good[:2], payloads.bad_record(wrong), good[2]]
    return decoder(payloads, policy, *columns).decode(raw_of(records))


def reason_of(name: str, wrong: str) -> str:
    """A word of the reason why a bad record is no row."""
    return FORMATS[name].all_bad[wrong][1]


def raw_of(records: Sequence[Record]) -> pa.RecordBatch:
    """Records with keys and headers, as a drain gives them if asked."""
    raw = raw_records([record.value for record in records])
    more = {
        "key": pa.array([record.key for record in records], pa.binary()),
        "timestamp_type": pa.array([0] * len(records), pa.int32()),
        "headers": pa.array(
            list(map(headers_of, records, range(len(records)))), LETTERS.field("headers").type
        ),
    }
    return pa.RecordBatch.from_arrays([*raw.columns, *more.values()], names=[*raw.schema.names, *more])


def headers_of(record: Record, number: int) -> list[dict[str, object]]:
    pairs = [("h", b"%d" % number), *record.headers]
    return [{"key": key, "value": value} for key, value in pairs]


NOTES: dict[pa.DataType, Callable[[int], object]] = {
    pa.string(): lambda number: f"n{number}",
    pa.binary(2): lambda number: b"n%d" % number,
    pa.uuid(): lambda number: UUID(int=number),
}


def good_rows(name: str, *numbers: int) -> list[dict[str, object]]:
    note = NOTES[FORMATS[name].schema.field("note").type]
    return [{"id": n, "note": note(n), "at": {"x": n}, "kafka_offset": 100 + n} for n in numbers]


@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_fail_names_the_record_and_the_reason(name: str, wrong: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decoded(name, wrong, BadRecords.FAIL)

    assert "topic 'orders' partition 3 offset 102" in str(caught.value)
    assert reason_of(name, wrong) in str(caught.value)
    assert isinstance(caught.value, SchemaMismatchError) == (wrong in FORMATS[name].misfits)
    assert (caught.value.details["partition"], caught.value.details["offset"]) == (3, 102)


@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_skip_leaves_out_the_record_and_says_so(name: str, wrong: str) -> None:
    found = decoded(name, wrong, BadRecords.SKIP)

    assert found.rows.to_pylist() == good_rows(name, 0, 1, 3)
    [bad] = found.bad
    assert (bad.partition, bad.offset) == (3, 102)
    assert reason_of(name, wrong) in bad.reason
    assert found.letters is None


@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_null_keeps_a_row_that_says_why(name: str, wrong: str) -> None:
    found = decoded(name, wrong, BadRecords.NULL)

    first, second, bad, last = found.rows.to_pylist()
    marks = {"_kafkaiceberg_partition": 3, "_kafkaiceberg_error": None}
    assert [first, second, last] == [
        {**row, **marks, "_kafkaiceberg_offset": row["kafka_offset"]} for row in good_rows(name, 0, 1, 3)
    ]
    reason = bad.pop("_kafkaiceberg_error")
    assert reason_of(name, wrong) in reason
    assert bad == {
        **dict.fromkeys(FORMATS[name].schema.names),
        "kafka_offset": 102,
        "_kafkaiceberg_partition": 3,
        "_kafkaiceberg_offset": 102,
    }
    assert found.bad == (BadRecord(3, 102, reason),)


@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_a_dead_letter_is_the_record_as_it_was(name: str, wrong: str) -> None:
    found = decoded(name, wrong, BadRecords.DEAD_LETTER)

    assert found.rows.to_pylist() == good_rows(name, 0, 1, 3)
    assert found.letters is not None
    assert found.letters.schema == LETTERS
    [letter] = found.letters.drop_columns(["timestamp"]).to_pylist()
    assert reason_of(name, wrong) in letter.pop("error")
    record = FORMATS[name].bad_record(wrong)
    assert letter == {
        "topic": "orders",
        "partition": 3,
        "offset": 102,
        "key": record.key,
        "value": record.value,
        "headers": headers_of(record, 2),
    }
    assert len(found.bad) == 1


@pytest.mark.parametrize(("name", "wrong"), CASES)
def test_a_record_is_bad_whatever_is_asked_for(name: str, wrong: str) -> None:
    for policy in (BadRecords.SKIP, BadRecords.DEAD_LETTER, BadRecords.NULL):
        for columns in (("id",), ("note",), ("kafka_offset",), ("at", "id")):
            found = decoded(name, wrong, policy, *columns)

            assert found.rows.schema.names == list(columns)
            assert [bad.offset for bad in found.bad] == [102]
            assert found.rows.num_rows == (4 if policy is BadRecords.NULL else 3)


@pytest.mark.parametrize("name", [name for name in FORMATS if "overflow inside" in FORMATS[name].bad])
def test_only_the_columns_that_are_wanted_are_judged_if_bad_records_are_errors(name: str) -> None:
    found = decoded(name, "overflow inside", BadRecords.FAIL, "kafka_offset")

    assert found.rows.column("kafka_offset").to_pylist() == [100, 101, 102, 103]


@pytest.mark.parametrize("policy", [BadRecords.SKIP, BadRecords.DEAD_LETTER, BadRecords.NULL])
@pytest.mark.parametrize("name", FORMATS)
def test_every_record_may_be_bad(name: str, policy: BadRecords) -> None:
    payloads = FORMATS[name]
    made = decoder(payloads, policy)

    records = [payloads.bad_record(wrong, number) for number, wrong in enumerate(payloads.all_bad)]
    found = made.decode(raw_of(records))

    assert [bad.offset for bad in found.bad] == list(range(100, 100 + len(records)))
    assert found.rows.num_rows == (len(records) if policy is BadRecords.NULL else 0)


@pytest.mark.parametrize("policy", list(BadRecords))
@pytest.mark.parametrize("name", [name for name in FORMATS if FORMATS[name].misfits])
def test_a_schema_that_is_not_known_is_an_error_and_no_bad_record(name: str, policy: BadRecords) -> None:
    payloads = FORMATS[name]
    unknown = payloads.place(b"\0" + (99).to_bytes(4, "big") + b"\0{}", 1)

    with pytest.raises(SchemaNotFoundError, match=r"id 99; .*offset 101"):
        decoder(payloads, policy).decode(raw_of([payloads.record(0), unknown]))


@pytest.mark.parametrize("policy", list(BadRecords))
@pytest.mark.parametrize("name", FORMATS)
def test_a_tombstone_is_no_bad_record(name: str, policy: BadRecords) -> None:
    payloads = FORMATS[name]
    raw = raw_of([payloads.record(0), payloads.record(1)._replace(value=None)])

    with pytest.raises(DecodeError, match=r"offset 101 .*tombstones=skip"):
        decoder(payloads, policy).decode(raw)
    found = decoder(payloads, policy, tombstones=True).decode(raw)
    assert (found.rows.num_rows, found.tombstones, found.bad) == (1, 1, ())


@pytest.mark.parametrize("policy", list(BadRecords))
@pytest.mark.parametrize("name", FORMATS)
def test_good_records_are_the_same_under_every_policy(name: str, policy: BadRecords) -> None:
    payloads = FORMATS[name]
    raw = raw_of([payloads.record(number) for number in range(4)])

    found = decoder(payloads, policy).decode(raw)

    assert found.rows.select([*payloads.schema.names, OFFSET.name]).to_pylist() == good_rows(name, 0, 1, 2, 3)
    assert found.bad == ()
