"""Who may ask: whoever sends the bearer token.

It must not know what is asked.
"""

from __future__ import annotations

import hmac

from flask import request

from sql_gateway.errors import UnauthorizedError


def require_token(token: str) -> None:
    """Raise unless the request carries a token.

    Raises:
        UnauthorizedError: It carries none, or another.
    """
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(sent.encode(), token.encode()):
        raise UnauthorizedError("send the gateway's token as 'Authorization: Bearer ...'")
