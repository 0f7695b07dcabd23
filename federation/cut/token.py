"""How a cut is written as one word, and read from one.

A word may come from anyone, so what it unpacks to has a bound, and is believed in nothing
yet. The file must not know what a cut is.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any, Final

_PREFIX: Final = "kic1."
_MAX_BYTES: Final = 1 << 22


def pack(document: Mapping[str, Any]) -> str:
    """Return a document as one word, safe in URLs and options."""
    packed = zlib.compress(json.dumps(document, separators=(",", ":")).encode(), 9)
    return _PREFIX + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def unpack(token: str) -> Any:
    """Return what a word stands for.

    Raises:
        ValueError, RecursionError: It is no such word.
    """
    body = token.removeprefix(_PREFIX)
    if body == token:
        raise ValueError(f"it does not begin with {_PREFIX}")
    try:
        packed = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
        return json.loads(zlib.decompressobj().decompress(packed, _MAX_BYTES))
    except zlib.error as exc:
        raise ValueError(str(exc)) from exc
