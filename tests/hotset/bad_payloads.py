"""For each format: how a good record looks, and every way a record of it can be bad.

The suite of bad records is one for all formats, so what differs is only here: the
bytes, and words that the reason must have.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from hotset.decode import RecordFormat

SCHEMA: Final = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("note", pa.string()),
        ("at", pa.struct([("x", pa.int32())])),
    ]
)


@dataclass(frozen=True)
class Payloads:
    """One format.

    Attributes:
        record_format: How records are encoded.
        good: Makes the record with this id, note "n<id>" and x = id.
        bad: What is wrong with a record to its bytes, and a word of the reason.
    """

    record_format: RecordFormat
    good: Callable[[int], bytes]
    bad: Mapping[str, tuple[bytes, str]]


def _json(number: int) -> bytes:
    return json.dumps({"id": number, "note": f"n{number}", "at": {"x": number}}).encode()


JSON: Final = Payloads(
    RecordFormat("json"),
    _json,
    {
        "a fraction in a long": (b'{"id": 1.5}', "column 'id' wants int64"),
        "a word in a long": (b'{"id": "abc"}', "holds a string"),
        "overflow": (b'{"id": 9223372036854775808}', "outside its range"),
        "overflow inside": (b'{"id": 1, "at": {"x": 2147483648}}', "outside its range"),
        "a required column absent": (b'{"note": "x"}', "required"),
        "a required column null": (b'{"id": null, "note": "x"}', "required"),
        "truncated": (_json(7)[:-3], "not one JSON document"),
        "two objects": (_json(7) + _json(8), "not one JSON document"),
        "empty": (b"", "not one JSON document"),
        "not UTF-8": (b'{"id": 1, "note": "\xff"}', "not UTF-8"),
        "trailing bytes": (_json(7) + b"\0", "not one JSON document"),
        "no object": (b"[1]", "an array, not a JSON object"),
    },
)

FORMATS: Final = {"json": JSON}

CASES: Final = [(name, wrong) for name, payloads in FORMATS.items() for wrong in payloads.bad]
