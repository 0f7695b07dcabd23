"""The routes of the Iceberg REST catalog, under `/iceberg`.

Only what reads is there, and the list of endpoints says so: engines then refuse writes by themselves. Errors
are in the form of that protocol, whose clients know no other. Format: Iceberg 1.12,
`rest-catalog-open-api.yaml`.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from flask import Blueprint, Response, jsonify, request
from werkzeug.exceptions import HTTPException

from foundation.errors import KafkaIcebergError
from sql_gateway.errors import GatewayError, NotFoundError, envelope
from sql_gateway.iceberg.as_of_start import reads_as_of_start, with_cut_alone
from sql_gateway.iceberg.union_catalog import UnionCatalog

_log = logging.getLogger(__name__)

_SEPARATOR: Final = "\x1f"
_ENDPOINTS: Final = (
    "GET /v1/{prefix}/namespaces",
    "GET /v1/{prefix}/namespaces/{namespace}",
    "HEAD /v1/{prefix}/namespaces/{namespace}",
    "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}",
)
# What clients call errors of each status; of this name for 400, those in Java add no words of their own.
_TYPES: Final[Mapping[int, str]] = {
    400: "IllegalArgumentException",
    401: "NotAuthorizedException",
    403: "ForbiddenException",
    405: "UnsupportedOperationException",
    406: "UnsupportedOperationException",
    503: "ServiceUnavailableException",
}
# Clients repeat a question for half a minute before they tell their user of such an answer.
_ASK_AGAIN: Final = 503
# What federation calls a table that the registered catalog no longer has.
_NO_TABLE: Final = "TABLE_NOT_FOUND"
_WRITES: Final = ["POST", "PUT", "DELETE", "PATCH"]


def iceberg_routes(catalog: UnionCatalog) -> Blueprint:
    """Return the routes of a catalog."""
    routes = Blueprint("iceberg", __name__, url_prefix="/iceberg")
    routes.register_error_handler(Exception, _answer_error)

    @routes.get("/v1/config")
    def config() -> Response:
        return jsonify(defaults={}, overrides={}, endpoints=list(_ENDPOINTS))

    @routes.get("/v1/namespaces")
    def namespaces() -> Response:
        # All of them are at the top, so none is below another.
        parent = request.args.get("parent")
        found = [] if parent else [name.split(".") for name in catalog.namespaces()]
        return jsonify({"namespaces": found, "next-page-token": None})

    @routes.get("/v1/namespaces/<namespace>")
    def namespace(namespace: str) -> Response:
        name = _name_of(namespace)
        catalog.tables(name)
        return jsonify(namespace=name.split("."), properties={})

    @routes.get("/v1/namespaces/<namespace>/tables")
    def tables(namespace: str) -> Response:
        name = _name_of(namespace)
        found = [{"namespace": name.split("."), "name": table} for table in catalog.tables(name)]
        return jsonify({"identifiers": found, "next-page-token": None})

    @routes.get("/v1/namespaces/<namespace>/tables/<table>")
    def table(namespace: str, table: str) -> Response:
        name = _name_of(namespace)
        if request.method == "HEAD":
            catalog.require(name, table)
            return Response(status=204)
        found = catalog.load(name, table)
        metadata = found.metadata
        if reads_as_of_start(request.user_agent.string):
            metadata = with_cut_alone(metadata)
        if request.args.get("snapshots") == "refs":
            metadata = _with_refs_only(metadata)
        told = {"metadata-location": found.metadata_location, "metadata": metadata, "config": found.config}
        return jsonify(told)

    @routes.route("/v1/<path:rest>", methods=_WRITES)
    def refuse(rest: str) -> tuple[Response, int]:  # noqa: ARG001
        message = f"this catalog is read-only: {request.method} {request.path} is not supported"
        return _error(message, 405, "UnsupportedOperationException")

    @routes.get("/v1/<path:rest>")
    def nothing(rest: str) -> tuple[Response, int]:  # noqa: ARG001
        return _error(f"this catalog has nothing at {request.path}", 404, "NotFoundException")

    return routes


def _name_of(namespace: str) -> str:
    return ".".join(namespace.split(_SEPARATOR))


def _with_refs_only(metadata: Mapping[str, Any]) -> dict[str, Any]:
    wanted = {ref["snapshot-id"] for ref in metadata.get("refs", {}).values()}
    return {**metadata, "snapshots": [s for s in metadata.get("snapshots", ()) if s["snapshot-id"] in wanted]}


def _answer_error(error: Exception) -> tuple[Response, int]:
    if isinstance(error, NotFoundError):
        kind = "NoSuchTableException" if "table" in (request.view_args or {}) else "NoSuchNamespaceException"
        return _error(str(error), 404, kind)
    if isinstance(error, HTTPException):
        status = error.code or 500
        return _error(
            f"{error.name}: {request.method} {request.path}", status, _TYPES.get(status, "RESTException")
        )
    if isinstance(error, KafkaIcebergError) and error.code == _NO_TABLE:
        return _error(str(error), 404, "NoSuchTableException")
    body, status = envelope(error, "")
    if not isinstance(error, KafkaIcebergError | GatewayError):
        _log.error("a load of an Iceberg table failed", exc_info=error)
    found = body["error"]
    if status == _ASK_AGAIN and not found["retriable"]:
        status = 400
    return _error(f"{found['message']} [{found['code']}]", status, _TYPES.get(status, "ServerErrorException"))


def _error(message: str, status: int, kind: str) -> tuple[Response, int]:
    return jsonify(error={"message": message, "type": kind, "code": status}), status
