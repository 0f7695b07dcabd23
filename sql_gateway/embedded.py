"""A gateway inside of another process, for engines on this machine that are started by it.

It listens on loopback with a token of its own, in a thread that ends with the process.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

from flask import Flask
from waitress.server import create_server

from sql_gateway.admission import require_token
from sql_gateway.iceberg import UnionCatalog, iceberg_routes


@dataclass(frozen=True, slots=True)
class EmbeddedCatalog:
    """An Iceberg REST catalog in this process.

    Attributes:
        uri: Where clients find it.
        token: What they have to send.
    """

    uri: str
    token: str = field(repr=False)


def serve_catalog(tables: Mapping[str, Mapping[str, str]]) -> EmbeddedCatalog:
    """Serve tables as an Iceberg REST catalog until this process ends.

    Args:
        tables: Name to merged options.

    Raises:
        OSError: No port is left.
    """
    app, token = Flask(__name__), secrets.token_urlsafe(32)
    app.before_request(lambda: require_token(token))
    app.register_blueprint(iceberg_routes(UnionCatalog(tables, lends_storage_access=True)))
    server = create_server(app, host="127.0.0.1", port=0, threads=8, ident="kafkaiceberg")
    threading.Thread(target=server.run, name="kafkaiceberg-catalog", daemon=True).start()
    return EmbeddedCatalog(f"http://127.0.0.1:{server.effective_port}/iceberg", token)
