"""For each format and each place in a record: how a good record looks, and every way it can be bad.

The suite of bad records is one for all, so what differs is only here: the bytes, where
they are in a record, and words that the reason must have. The schemas that records name are beside it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple
from uuid import UUID

import pyarrow as pa

from hotset.decode.formats import RecordFormat
from tests.fuzz.avro_bytes import counted, number

SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("note", pa.string()),
        ("at", pa.struct([("x", pa.int32())])),
    ]
)


class Record(NamedTuple):
    """What a producer sends; headers of the records' own stand beside these."""

    value: bytes | None
    key: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


def _as_value(payload: bytes, number: int) -> Record:
    return Record(payload, b"k%d" % number)


@dataclass(frozen=True)
class Payloads:
    """One format in one place of records.

    Attributes:
        record_format: How records are encoded.
        good: Makes the payload of the record with this id, note "n<id>" and x = id.
        bad: What is wrong with a payload to its bytes, and a word of the reason.
        misfits: The same, of payloads whose schema no row can be made of.
        place: Makes the record that has a payload, and says the rest of what the row with a number is.
        schema: The columns of the table.
    """

    record_format: RecordFormat
    good: Callable[[int], bytes]
    bad: Mapping[str, tuple[bytes, str]]
    misfits: Mapping[str, tuple[bytes, str]] = field(default_factory=dict)
    place: Callable[[bytes, int], Record] = _as_value
    schema: pa.Schema = SCHEMA

    def record(self, number: int) -> Record:
        """The good record with a number."""
        return self.place(self.good(number), number)

    def bad_record(self, wrong: str, number: int = 2) -> Record:
        """The record with a number and a bad payload."""
        return self.place(self.all_bad[wrong][0], number)

    @property
    def all_bad(self) -> Mapping[str, tuple[bytes, str]]:
        """Everything that can be wrong."""
        return {**self.bad, **self.misfits}


def _framed(schema_id: int, body: bytes) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big") + body


_UNFRAMED: Final[Mapping[str, tuple[bytes, str]]] = {
    "empty": (b"", "is empty, without a frame"),
    "wrong magic": (b"\x01\0\0\0\x01{}", "begins with the byte 0x01"),
    "half a frame": (b"\0\0\0", "a frame alone has 5"),
}


def _text(number: int) -> bytes:
    return json.dumps({"id": number, "note": f"n{number}", "at": {"x": number}}).encode()


_JSON_BODIES: Final[Mapping[str, tuple[bytes, str]]] = {
    "a fraction in a long": (b'{"id": 1.5}', "column 'id' wants int64"),
    "a word in a long": (b'{"id": "abc"}', "holds a string"),
    "overflow": (b'{"id": 9223372036854775808}', "outside its range"),
    "overflow inside": (b'{"id": 1, "at": {"x": 2147483648}}', "outside its range"),
    "a required column absent": (b'{"note": "x"}', "required"),
    "a required column null": (b'{"id": null, "note": "x"}', "required"),
    "truncated": (_text(7)[:-3], "not one JSON document"),
    "two objects": (_text(7) + _text(8), "not one JSON document"),
    "no body": (b"", "not one JSON document"),
    "not UTF-8": (b'{"id": 1, "note": "\xff"}', "not UTF-8"),
    "trailing bytes": (_text(7) + b"\0", "not one JSON document"),
    "no object": (b"[1]", "an array, not a JSON object"),
}

_JSON: Final = Payloads(RecordFormat("json"), _text, _JSON_BODIES)

_JSON_SCHEMA: Final = Payloads(
    RecordFormat("json_schema"),
    lambda number: _framed(1, _text(number)),
    {**{wrong: (_framed(1, body), why) for wrong, (body, why) in _JSON_BODIES.items()}, **_UNFRAMED},
    {"another format": (_framed(2, _text(1)), "schema id 2 is Avro")},
)


def _datum(first: int, note: bytes | None = b"n", x: int = 1) -> bytes:
    text = number(0) if note is None else number(1) + counted(note)
    return number(1) + number(first) + text + number(x)


_AVRO: Final = Payloads(
    RecordFormat("avro"),
    lambda n: _framed(2, _datum(n, b"n%d" % n, n)),
    {
        "overflow inside": (_framed(2, _datum(1, x=2**31)), "outside its range"),
        "an endless number": (_framed(2, b"\x02" + b"\xff" * 11), "column 'id'"),
        "a required column null": (_framed(2, number(0) + number(0) + number(1)), "required"),
        "no such branch": (_framed(2, number(7)), "column 'id'"),
        "truncated": (_framed(2, _datum(7)[:-1]), "ends too early"),
        "two records": (_framed(2, _datum(7) * 2), "after its last field"),
        "no body": (_framed(2, b""), "ends too early"),
        "not UTF-8": (_framed(2, _datum(1, b"\xff")), "UTF-8"),
        "trailing bytes": (_framed(2, _datum(7) + b"\0"), "after its last field"),
        **_UNFRAMED,
    },
    {
        "a fraction in a long": (_framed(3, b"\0" * 8), "column 'id' wants int64"),
        "a word in a long": (_framed(4, counted(b"abc")), "column 'id' wants int64"),
        "another format": (_framed(1, b"{}"), "schema id 1 is JSON Schema"),
    },
)


def _message(first: int, x: int = 1, note: bytes = b"n") -> bytes:
    """A message of schema 5, with its index."""
    inside = b"\x08" + _varint(x)
    note = b"\x12" + _varint(len(note)) + note
    return b"\0\x08" + _varint(first) + note + b"\x1a" + _varint(len(inside)) + inside


def _varint(value: int) -> bytes:
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


_PROTOBUF: Final = Payloads(
    RecordFormat("protobuf"),
    lambda n: _framed(5, _message(n, n, b"n%d" % n)),
    {
        "overflow": (_framed(5, _message(2**63)), "outside its range"),
        "overflow inside": (_framed(5, _message(1, 2**31)), "outside its range"),
        "a required column absent": (_framed(5, b"\0"), "required"),
        "truncated": (_framed(5, _message(7)[:-1]), "not a Protobuf message"),
        "no body": (_framed(5, b""), "message index"),
        "not UTF-8": (_framed(5, _message(1, note=b"\xff")), "not a Protobuf message"),
        "trailing bytes": (_framed(5, _message(7) + b"\0"), "not a Protobuf message"),
        **_UNFRAMED,
    },
    {
        "a word in a long": (_framed(6, b"\0\x0a\x03abc"), "column 'id' is of type int64"),
        "another format": (_framed(1, b"{}"), "schema id 1 is JSON Schema"),
    },
)


def _in_keys(values: Payloads) -> Payloads:
    """The same payloads as keys, of which all columns are; values are documents with nothing in them."""
    return Payloads(
        RecordFormat("json", key=values.record_format.value, key_fields=tuple(SCHEMA.names)),
        values.good,
        {**values.bad, **({} if "empty" in values.bad else {"empty": (b"", "its key")})},
        values.misfits,
        lambda payload, _: Record(b"{}", payload),
    )


def _in_headers(framed: Payloads, side: str) -> Payloads:
    """The same records with what names the schema in a header, and only the rest in value or key."""
    head = 6 if "protobuf" in (framed.record_format.value, framed.record_format.key) else 5

    def place(payload: bytes, number: int) -> Record:
        header = (f"__{side}_schema_id", payload[:head])
        whole = framed.place(payload[head:], number)
        return whole._replace(headers=(header,))

    unnamed = {wrong: (payload, "does not name a schema") for wrong, (payload, _) in _UNFRAMED.items()}
    identity = {"half an identity": (b"\x01" * head, "does not name a schema")}
    return replace(framed, bad={**framed.bad, **unnamed, **identity}, place=place)


_TEXT: Final = Payloads(
    RecordFormat("string", key="json", key_fields=("id", "at")),
    lambda number: b"n%d" % number,
    {
        "not UTF-8": (b"n\xff", "not UTF-8 (byte 1)"),
        "half a character": (b"\xe2\x82", "not UTF-8 (byte 0)"),
        "a surrogate": (b"\xed\xa0\x80", "not UTF-8"),
    },
    place=lambda payload, number: Record(payload, _beside(number)),
)

_KEY_TEXT: Final = replace(
    _TEXT,
    record_format=RecordFormat("json", key="string", key_fields=("note",)),
    place=lambda payload, number: Record(_beside(number), payload),
)

# Columns of bytes hold all payloads, if they are not of one size.
_UUID: Final = Payloads(
    RecordFormat("string", key="json", key_fields=("id", "at")),
    lambda number: str(UUID(int=number)).encode(),
    {
        "no UUID": (b"n2", "text that is no UUID"),
        "without hyphens": (UUID(int=2).hex.encode(), "text that is no UUID"),
        "bytes of one": (UUID(int=2).bytes_le, "text that is no UUID"),
        "empty": (b"", "text that is no UUID"),
        "not UTF-8": (b"\xff" * 36, "not UTF-8 (byte 0)"),
    },
    place=_TEXT.place,
    schema=SCHEMA.set(1, pa.field("note", pa.uuid())),
)

_KEY_UUID: Final = replace(
    _UUID,
    record_format=RecordFormat("json", key="bytes", key_fields=("note",)),
    good=lambda number: UUID(int=number).bytes,
    bad={
        "text of one": (str(UUID(int=2)).encode(), "it has 36 bytes, and the column has 16"),
        "empty": (b"", "it has 0 bytes"),
    },
    place=_KEY_TEXT.place,
)

_BYTES: Final = Payloads(
    RecordFormat("bytes", key="json", key_fields=("id", "at")),
    lambda number: b"n%d" % number,
    {
        "too long": (b"n22", "it has 3 bytes, and the column has 2"),
        "too short": (b"n", "it has 1 bytes"),
        "empty": (b"", "it has 0 bytes"),
    },
    place=_TEXT.place,
    schema=SCHEMA.set(1, pa.field("note", pa.binary(2))),
)

_KEY_BYTES: Final = replace(
    _BYTES,
    record_format=RecordFormat("json", key="bytes", key_fields=("note",)),
    place=_KEY_TEXT.place,
)


def _beside(number: int) -> bytes:
    """What the other half of a record tells whose one half is a note."""
    return json.dumps({"id": number, "at": {"x": number}}).encode()


_VALUES: Final = {"json": _JSON, "json_schema": _JSON_SCHEMA, "avro": _AVRO, "protobuf": _PROTOBUF}
_FRAMED: Final = [name for name in _VALUES if name != "json"]

FORMATS: Final[Mapping[str, Payloads]] = {
    **_VALUES,
    **{f"{name} id in a header": _in_headers(_VALUES[name], "value") for name in _FRAMED},
    **{f"{name} key": _in_keys(values) for name, values in _VALUES.items()},
    **{f"{name} key id in a header": _in_headers(_in_keys(_VALUES[name]), "key") for name in _FRAMED},
    "string": _TEXT,
    "string key": _KEY_TEXT,
    "bytes": _BYTES,
    "bytes key": _KEY_BYTES,
    "string that is a UUID": _UUID,
    "bytes key that is a UUID": _KEY_UUID,
}

CASES: Final = [(name, wrong) for name, payloads in FORMATS.items() for wrong in payloads.all_bad]
