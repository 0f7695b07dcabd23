"""Errors of the HTTP door itself, and the one envelope for all errors.

The envelope has `code`, `kind`, `message`, `retriable` and `query_id`, whoever
raised. The status follows from `kind` alone, except where HTTP has a word of
its own. Unknown exceptions show no text to the client: it may hold anything.

    GatewayError
     ├ BadRequestError         user   400
     ├ UnauthorizedError       user   401
     ├ ForbiddenHostError      user   403
     ├ ForbiddenOriginError    user   403
     └ NotFoundError           user   404
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from foundation.errors import KafkaIcebergError

_STATUS: Final = {"user": 400, "external": 503, "internal": 500}


class GatewayError(KafkaIcebergError):
    """A request that does not become a statement."""

    code = "GATEWAY_ERROR"
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


class ForbiddenOriginError(GatewayError):
    """A web page of another origin makes the request."""

    code = "FORBIDDEN_ORIGIN"
    kind = "user"
    status = 403


class NotFoundError(GatewayError):
    """There is no such path or table."""

    code = "NOT_FOUND"
    kind = "user"
    status = 404


def envelope(error: Exception, query_id: str) -> tuple[dict[str, Any], int]:
    """Return the body and status for an error."""
    if isinstance(error, KafkaIcebergError):
        status = error.status if isinstance(error, GatewayError) else _STATUS[error.kind]
        fields = {
            "code": error.code,
            "kind": error.kind,
            "message": str(error),
            "retriable": error.retriable,
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
