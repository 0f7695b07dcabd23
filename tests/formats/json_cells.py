"""JSON values and the columns they fill, written by hand from the page. Nothing here decodes."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal

from tests.formats.columns import Cell

WHOLE = "number without fraction and exponent"
UUID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
MS = 1_700_000_000_123
AT = dt.datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=dt.UTC)

JSON_CELLS = [
    Cell("true, false", "boolean", True, True),
    Cell(WHOLE, "int", -(2**31), -(2**31)),
    Cell(WHOLE, "long", 2**63 - 1, 2**63 - 1),
    Cell(WHOLE, "decimal", 10**28, Decimal(f"{10**28}.000000000")),
    Cell(WHOLE, "float", 2**24 + 1, 2.0**24),
    Cell(WHOLE, "double", 2**53 + 1, 2.0**53),
    Cell(WHOLE, "timestamp", MS, AT.replace(tzinfo=None)),
    Cell(WHOLE, "timestamptz", MS, AT),
    Cell(WHOLE, "timestamp_ns", MS, AT.replace(tzinfo=None)),
    Cell(WHOLE, "timestamptz_ns", MS, AT),
    Cell("number", "float", 1.5, 1.5),
    Cell("number", "double", 0.1, 0.1),
    Cell("number", "decimal", 1.25, Decimal("1.250000000")),
    Cell("string", "string", 'é "\n', 'é "\n'),
    Cell("string of a number", "decimal", "-0.000000001", Decimal("-0.000000001")),
    Cell("string of base64", "binary", "AP8=", b"\0\xff"),
    Cell("string of base64", "fixed", "AAECAwQFBgcICQoLDA0ODw==", bytes(range(16))),
    Cell('"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", in hexadecimal', "uuid", str(UUID).upper(), UUID),
    Cell('"YYYY-MM-DD"', "date", "0001-01-01", dt.date(1, 1, 1)),
    Cell('"HH:MM:SS[.ffffff]"', "time", "03:04:05.000006", dt.time(3, 4, 5, 6)),
    Cell(
        '"YYYY-MM-DDTHH:MM:SS[.ffffff]"',
        "timestamp",
        "2026-01-02T03:04:05.000006",
        dt.datetime(2026, 1, 2, 3, 4, 5, 6),  # noqa: DTZ001
    ),
    Cell("the same with an offset or Z", "timestamptz", "2023-11-14T23:13:20.123+01:00", AT),
    Cell(
        '"YYYY-MM-DDTHH:MM:SS[.fffffffff]"',
        "timestamp_ns",
        "2026-01-02T03:04:05.000006000",
        dt.datetime(2026, 1, 2, 3, 4, 5, 6),  # noqa: DTZ001
    ),
    Cell("that with an offset or Z", "timestamptz_ns", "2023-11-14T23:13:20.123000000+01:00", AT),
    Cell("object", "struct", {"a": 1}, {"a": 1}),
    Cell("object", "map", {"k": 1}, [("k", 1)]),
    Cell("array", "list", [1, None], [1, None]),
]
