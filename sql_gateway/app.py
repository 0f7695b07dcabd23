"""The routes. Each turns a request into one call of federation, and back.

Everything that can be wrong becomes the one error envelope, with a query id
that is also in the log. Each statement takes its own cuts; all that requests have
in common is which statements run.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from flask import Flask, Response, g, jsonify, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from federation.cut import take_cut
from federation.engine import Answer, run_query
from federation.options import OPTIONS, Config, merge_options, split_name
from federation.plan import answer_schema
from federation.receipt import COUNTED, build_receipt
from sql_gateway.admission import require_own_origin, require_token
from sql_gateway.errors import BadRequestError, ForbiddenHostError, NotFoundError, envelope
from sql_gateway.iceberg import UnionCatalog, iceberg_routes
from sql_gateway.protocol import ARROW_STREAM, JSON, SqlRequest, parse_body, render_arrow, render_json
from sql_gateway.running import RunningStatements
from sql_gateway.settings import GatewaySettings, is_loopback
from sql_gateway.warm import Warmer

_log = logging.getLogger(__name__)

MAX_BODY_BYTES = 2 << 20

# A gateway lives long and is asked the same again; a library that reads once would keep for nobody.
_DEFAULTS: Final = {"hotStore": "on_demand"}


def create_app(config: Config, settings: GatewaySettings, warmer: Warmer | None = None) -> Flask:
    """Return the gateway as a WSGI application.

    Args:
        config: Tables and their options; only tables named there can be read.
        settings: Limits, and the token if one is asked for.
        warmer: What keeps tables warm, for `/healthz`.

    Raises:
        OptionError: A table's options are malformed.
    """
    app = Flask(__name__)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    tables = gateway_tables(config)
    app.before_request(lambda: _admit(settings))
    app.after_request(_keep_to_own_origin)
    app.register_error_handler(Exception, _answer_error)
    _add_sql(app, tables, settings)
    _add_tables(app, tables)
    catalog = UnionCatalog(tables, lends_storage_access=settings.lends_storage_access)
    app.register_blueprint(iceberg_routes(catalog))

    @app.get("/healthz")
    def healthz() -> Response:
        return jsonify(status="ok") if warmer is None else jsonify(status="ok", warm=warmer.health())

    return app


def gateway_tables(config: Config) -> dict[str, dict[str, str]]:
    """Return the tables of a gateway with their merged options.

    Raises:
        OptionError: A table's options are malformed.
    """
    return {name: merge_options(name, {}, _DEFAULTS | config.options_of(name)) for name in config.tables}


def _add_sql(app: Flask, tables: Mapping[str, Mapping[str, str]], settings: GatewaySettings) -> None:
    running = RunningStatements()

    def run(wanted: SqlRequest) -> Response:
        media_type = _wanted_type()
        chosen = dict(tables)
        for name, token in wanted.cuts.items():
            if name not in tables:
                raise NotFoundError(f"a cut is given for table {name!r}, which is not registered")
            chosen[name] = {**tables[name], "cut": token}
        began_s = time.monotonic()
        with running.running(g.query_id, wanted.sql) as watched:
            answer = run_query(
                wanted.sql, chosen, settings.limits, is_abandoned=_is_abandoned(), watched=watched
            )
        _log_answer(answer, began_s)
        return _render(answer, media_type)

    @app.post("/v1/sql")
    def post_sql() -> Response:
        # A form of any web page can send other types without asking.
        if not request.is_json:
            raise BadRequestError("the body is JSON; say so with the header 'Content-Type: application/json'")
        try:
            body = request.get_json(silent=True)
        except RecursionError:
            body = None
        return run(parse_body(body))

    @app.get("/v1/sql")
    def get_sql() -> Response:
        if request.method == "HEAD":  # which would run a statement for nobody
            raise MethodNotAllowed(["GET", "POST"])
        sql = request.args.get("q")
        if sql is None:
            raise BadRequestError("no statement: use /v1/sql?q=SELECT ...")
        return run(SqlRequest(sql, {}))

    @app.get("/v1/queries")
    def list_queries() -> Response:
        return jsonify(queries=running.listed())

    @app.get("/v1/queries/<query_id>")
    def show_query(query_id: str) -> Response:
        return jsonify(running.shown(query_id))


def _add_tables(app: Flask, tables: Mapping[str, Mapping[str, str]]) -> None:
    def options(name: str) -> Mapping[str, str]:
        if name not in tables:
            raise NotFoundError(f"there is no table {name!r}; /v1/tables lists them")
        return tables[name]

    @app.get("/v1/tables")
    def list_tables() -> Response:
        listed = [
            {"name": name, "read": OPTIONS.value_of(found, "read")} for name, found in sorted(tables.items())
        ]
        return jsonify(tables=listed)

    @app.get("/v1/tables/<name>")
    def show_table(name: str) -> Response:
        table, part = split_name(name)
        taken = take_cut(options(table))
        columns = [
            {"name": field.name, "type": str(field.type), "nullable": field.nullable}
            for field in answer_schema(taken, part=part)
        ]
        return jsonify(
            name=name,
            topic=taken.cut.topic,
            snapshot_id=taken.cut.snapshot_id,
            isolation=taken.cut.isolation.value,
            columns=columns,
        )

    @app.get("/v1/tables/<name>/freshness")
    def show_freshness(name: str) -> Response:
        taken = take_cut(options(name))
        receipt = build_receipt(taken, stages_ms={}).to_dict()
        for unread in COUNTED:
            del receipt[unread]
        return jsonify({**receipt, "hot_span": taken.cut.hot_span})


def _admit(settings: GatewaySettings) -> None:
    g.query_id = uuid.uuid4().hex
    # A page elsewhere can point a name of its own at this address; its requests carry that name.
    host = urlsplit(f"//{request.host}").hostname or ""
    if settings.is_loopback and not is_loopback(host):
        raise ForbiddenHostError(f"this gateway answers for this machine only, not for host {host!r}")
    require_own_origin()
    if settings.token is None or request.path == "/healthz":
        return
    require_token(settings.token)


def _keep_to_own_origin(response: Response) -> Response:
    # A page of another origin must neither show an answer nor run it.
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def _is_abandoned() -> Callable[[], bool]:
    found: Callable[[], bool] | None = request.environ.get("waitress.client_disconnected")
    return found or (lambda: False)


def _wanted_type() -> str:
    if "Accept" not in request.headers:
        return JSON
    wanted = request.accept_mimetypes.best_match([JSON, ARROW_STREAM])
    if wanted is None:
        raise BadRequestError(f"answers come as {JSON} or {ARROW_STREAM}; ask for one of them in Accept")
    return wanted


def _render(answer: Answer, wanted: str) -> Response:
    body = render_arrow(answer, g.query_id) if wanted == ARROW_STREAM else render_json(answer, g.query_id)
    return Response(body, mimetype=wanted, headers={"X-Query-Id": g.query_id})


def _log_answer(answer: Answer, began_s: float) -> None:
    _log.info(
        "query %s: %d rows in %.0f ms at %s",
        g.query_id,
        answer.rows.num_rows,
        (time.monotonic() - began_s) * 1000,
        " ".join(f"{receipt.table}={receipt.cut}" for receipt in answer.receipts) or "no table",
    )


def _answer_error(error: Exception) -> tuple[Response, int]:
    query_id = g.get("query_id", "")
    if isinstance(error, HTTPException):
        found = BadRequestError if (error.code or 500) != 404 else NotFoundError
        body, _ = envelope(found(f"{error.name}: {request.method} {request.path}"), query_id)
        response, status = _error_response(body, error.code or 500)
        if isinstance(error, MethodNotAllowed):
            response.headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))
        return response, status
    body, status = envelope(error, query_id)
    if status == 500:
        _log.error("query %s failed", query_id, exc_info=error)
    else:
        _log.info("query %s: %s", query_id, body["error"]["code"])
    return _error_response(body, status)


def _error_response(body: dict[str, Any], status: int) -> tuple[Response, int]:
    response = jsonify(body)
    response.headers["X-Query-Id"] = body["error"]["query_id"]
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response, status
