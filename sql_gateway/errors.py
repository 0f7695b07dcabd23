"""Errors of the HTTP door itself, and the one envelope for all errors.

The envelope has `code`, `kind`, `message`, `retriable` and `query_id`, whoever
raised. The status follows from `kind` alone, except where HTTP has a word of
its own. Unknown exceptions show no text to the client: it may hold anything.

    GatewayError
     ├ BadRequestError         user   400
     ├ UnauthorizedError       user   401
     ├ ForbiddenHostError      user   403
     └ NotFoundError           user   404
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal, Protocol, cast

from federation.errors import ROOTS

Kind = Literal["user", "external", "internal"]

_STATUS: Final = {"user": 400, "external": 503, "internal": 500}


class GatewayError(Exception):
    """A request that does not become a statement."""

    code: ClassVar[str] = "GATEWAY_ERROR"
    kind: ClassVar[Kind] = "internal"
    retriable: ClassVar[bool] = False
    status: ClassVar[int] = 500


class BadRequestError(GatewayError):
    """The request is malformed."""

    code = "BAD_REQUEST"
    kind = "user"
    status = 400


class UnauthorizedError(GatewayError):
    """The request has no token, or a wrong one."""

    code = "UNAUTHORIZED"
    kind = "user"
    status = 401


class ForbiddenHostError(GatewayError):
    """The request names a host that this gateway does not answer for."""

    code = "FORBIDDEN_HOST"
    kind = "user"
    status = 403


class NotFoundError(GatewayError):
    """There is no such path or table."""

    code = "NOT_FOUND"
    kind = "user"
    status = 404


class _Coded(Protocol):
    code: str
    kind: str
    retriable: bool


def envelope(error: Exception, query_id: str) -> tuple[dict[str, Any], int]:
    """Return the body and status for an error.

    Raises:
        Nothing of its own.
    """
    if isinstance(error, (GatewayError, *ROOTS)):
        coded = cast("_Coded", error)
        status = error.status if isinstance(error, GatewayError) else _STATUS[coded.kind]
        fields = {
            "code": coded.code,
            "kind": coded.kind,
            "message": str(error),
            "retriable": coded.retriable,
        }
    else:
        status = 500
        fields = {
            "code": "INTERNAL",
            "kind": "internal",
            "message": "the gateway failed; its log has the details under the query id",
            "retriable": False,
        }
    return {"error": {**fields, "query_id": query_id}}, status
