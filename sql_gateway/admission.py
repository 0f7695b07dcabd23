"""Who may ask: clients that send the bearer token, and no web page of another origin.

A browser sends requests wherever a page tells it to, and a page learns something of each answer even where
it cannot read it. It must not know what is asked.
"""

from __future__ import annotations

import hmac
from typing import Final
from urllib.parse import urlsplit

from flask import request

from sql_gateway.errors import ForbiddenOriginError, UnauthorizedError

# What a browser says of requests that its user or a page of the gateway itself has made; others say nothing.
_OWN_SITES: Final = ("none", "same-origin")


def require_own_origin() -> None:
    """Raise if a web page of another origin makes the request.

    Browsers say so in `Sec-Fetch-Site` (W3C, Fetch Metadata Request Headers), older ones in `Origin` alone.

    Raises:
        ForbiddenOriginError: One does.
    """
    origin = request.headers.get("Origin")
    is_foreign = origin is not None and urlsplit(origin).netloc.lower() != request.host.lower()
    if is_foreign or request.headers.get("Sec-Fetch-Site", "none") not in _OWN_SITES:
        raise ForbiddenOriginError(
            "this gateway answers no web page of another origin; ask it from a program"
        )


def require_token(token: str) -> None:
    """Raise unless the request carries a token.

    Raises:
        UnauthorizedError: It carries none, or another.
    """
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(sent.encode(), token.encode()):
        raise UnauthorizedError("send the gateway's token as 'Authorization: Bearer ...'")
