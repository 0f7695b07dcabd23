"""The two ways there are to decode JSON records, which nobody may be able to tell apart.

The exact decoder is the reference, and the reader in C may only be faster. Each is what the environment
variable makes of the one decoder, so that tests see what users get.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from hotset.decode.decoded import Decoded
from hotset.decode.json.json_decoder import decode_json
from hotset.decode.json.json_native import is_built
from hotset.native.availability import PURE

Decode = Callable[..., Decoded]

# Columns of the types that JSON has, or writes as plain texts.
PLAIN = pa.schema(
    [
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("f", pa.float64()),
        ("b", pa.bool_()),
        ("s", pa.string()),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", tz="UTC")),
        ("n", pa.timestamp("us")),
        ("o", pa.time64("us")),
    ]
)


def natively(payloads: pa.BinaryArray, schema: pa.Schema, headers: pa.ListArray | None = None) -> Decoded:
    """As it is where the reader in C was built."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PURE, "")
        return decode_json(payloads, schema, headers)


def in_python(payloads: pa.BinaryArray, schema: pa.Schema, headers: pa.ListArray | None = None) -> Decoded:
    """As it is elsewhere: by the exact decoder alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(PURE, "1")
        return decode_json(payloads, schema, headers)


needs_native = pytest.mark.skipif(not is_built(), reason="the reader in C was not built")

WAYS = [pytest.param(natively, id="native", marks=needs_native), pytest.param(in_python, id="exact")]
