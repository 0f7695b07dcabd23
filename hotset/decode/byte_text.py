"""Bytes as text spells them: in base64, or as the digits of a UUID.

Whoever reads text that fills a column of bytes or of UUIDs asks here, so that all formats take the same
texts. This file must not know formats.
"""

from __future__ import annotations

import base64
import re
from typing import Final

_UUID: Final = re.compile("[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)


def parse_uuid(text: str) -> bytes:
    """Return the 16 bytes of a UUID in its canonical form, in letters of either case.

    Raises:
        ValueError: The text is none: it has braces, or its hyphens elsewhere, say.
    """
    if not _UUID.fullmatch(text):
        raise ValueError("it is no UUID")
    return bytes.fromhex(text.replace("-", ""))


def parse_base64(text: str) -> bytes:
    """Return the bytes that a text spells in base64.

    Raises:
        ValueError: It spells none.
    """
    return base64.b64decode(text, validate=True)
