"""Which catalog properties may come from outside of the machine's own configuration.

pyiceberg imports Python classes by the name that a property gives (`py-io-impl`,
`py-catalog-impl`, `auth`, `s3.retry-strategy-impl`), signs requests for whoever
asks, and takes properties from the options of a read, from the answers of a REST
server and from tables alike. So there is an allow-list for options, a narrower
one for answers, and tables say nothing. What a configuration file of the machine
sets is not looked at here. This file opens nothing.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from coldset.errors import CatalogConfigError

# How to reach files; a REST server tells these for a table too, with credentials that it lends.
_STORAGE: Final = frozenset(
    {
        *(f"adls.{name}" for name in ("account-host", "account-key", "account-name", "anon")),
        *(f"adls.{name}" for name in ("blob-storage-authority", "blob-storage-scheme", "client-id")),
        *(f"adls.{name}" for name in ("client-secret", "connection-string", "dfs-storage-authority")),
        *(f"adls.{name}" for name in ("dfs-storage-scheme", "sas-token", "tenant-id", "token")),
        *(f"client.{name}" for name in ("access-key-id", "region", "role-arn", "role-session-name")),
        *(f"client.{name}" for name in ("secret-access-key", "session-token")),
        *(f"gcs.{name}" for name in ("default-bucket-location", "oauth2.token", "oauth2.token-expires-at")),
        *(f"gcs.{name}" for name in ("project-id", "service.host")),
        *(f"s3.{name}" for name in ("access-key-id", "anonymous", "connect-timeout", "endpoint")),
        *(f"s3.{name}" for name in ("force-virtual-addressing", "proxy-uri", "region", "request-timeout")),
        *(f"s3.{name}" for name in ("resolve-region", "role-arn", "role-session-name")),
        *(f"s3.{name}" for name in ("secret-access-key", "server-side-encryption", "session-token")),
        *(f"s3.{name}" for name in ("session-token-expires-at-ms", "sse-kms-key-id")),
    }
)

# What Iceberg's REST protocol lets a server tell its clients about itself.
_SERVER: Final = frozenset(
    {
        "namespace-separator",
        "oauth2-server-uri",
        "prefix",
        "rest-page-size",
        "token",
        "uri",
        "view-endpoints-supported",
        "warehouse",
    }
)

_OPTIONS: Final = frozenset(
    {
        *_STORAGE,
        *_SERVER,
        "audience",
        "auth.basic.password",
        "auth.basic.username",
        "auth.type",
        "credential",
        "dynamodb.access-key-id",
        "dynamodb.region",
        "dynamodb.secret-access-key",
        "dynamodb.session-token",
        "glue.access-key-id",
        "glue.endpoint",
        "glue.id",
        "glue.region",
        "glue.secret-access-key",
        "glue.session-token",
        "hive.hive2-compatible",
        "init_catalog_tables",
        "pool_pre_ping",
        "resource",
        "rest.client.connection-timeout-ms",
        "rest.client.socket-timeout-ms",
        "rest.signing-name",
        "rest.signing-region",
        "rest.sigv4-enabled",
        "schema_version",
        "scope",
        "snapshot-loading-mode",
        "sql.connect-timeout-ms",
        "sql.transaction-timeout-ms",
        "ssl.cabundle",
        "ssl.client.cert",
        "ssl.client.key",
        "type",
    }
)

# In seconds. A request is tried a few times, so a dead store is found out within a small multiple.
_LIMITS: Final = {"s3.connect-timeout": "5", "s3.request-timeout": "10"}

_HEADER: Final = "header."

# A value may name code where its property does not.
_VALUES: Final = {
    "auth.type": re.compile(r"noop|basic"),
    "type": re.compile(r"bigquery|dynamodb|glue|hive|in-memory|rest|sql", re.IGNORECASE),
}
_URI: Final = re.compile(r"https?|thrift|sqlite|postgresql(\+psycopg2?)?")
_URI_PARAMETERS: Final = frozenset({"application_name", "connect_timeout", "sslmode", "sslrootcert"})


def check_properties(properties: Mapping[str, str]) -> None:
    """Raise unless each property is one that anybody who reads may set.

    Args:
        properties: Names without the prefix `catalog.`, and values.

    Raises:
        CatalogConfigError: One of them could run code, or is not known to be unable to.
    """
    for name, value in properties.items():
        if name not in _OPTIONS and not name.startswith(_HEADER):
            near = difflib.get_close_matches(name, _OPTIONS, n=1)
            hint = f"; did you mean catalog.{near[0]}" if near else ""
            raise CatalogConfigError(
                f"catalog.{name} is not among the catalog properties that a read may set, because some run "
                f"code that they name; set it in the configuration file{hint}",
                property=name,
            )
        if not _VALUES.get(name, re.compile(".*", re.DOTALL)).fullmatch(value):
            raise CatalogConfigError(
                f"catalog.{name} cannot be {value!r} in a read; set it in the configuration file",
                property=name,
            )
    _check_uri(properties.get("uri", "http"))


def from_server(answered: Mapping[str, object]) -> dict[str, str]:
    """Return those properties of a REST server's answer that may have an effect."""
    allowed = _STORAGE | _SERVER
    return {
        name: value
        for name, value in answered.items()
        if isinstance(value, str) and (name in allowed or name.startswith(_HEADER))
    }


def of_storage(properties: Mapping[str, object]) -> dict[str, str]:
    """Return those properties that say how to reach files, and nothing else."""
    return {name: value for name, value in properties.items() if isinstance(value, str) and name in _STORAGE}


def nested(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties with `auth.…` and `ssl.…` as pyiceberg's REST catalog wants them."""
    found: dict[str, Any] = {}
    for name, value in properties.items():
        *path, last = name.split(".") if name.startswith(("auth.", "ssl.")) else [name]
        place = found
        for part in path:
            place = place.setdefault(part, {})
        place[last] = dict(value) if isinstance(value, Mapping) else value
    return found


def with_storage_defaults(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties with limits for how long a store may be silent."""
    known = dict(_LIMITS)
    if "s3.endpoint" in properties and not {"s3.region", "client.region"} & set(properties):
        known["s3.region"] = "us-east-1"  # else Amazon would be asked where a bucket of somebody else is
    return {**known, **properties}


def _check_uri(uri: str) -> None:
    # A dialect of SQLAlchemy is a plug-in, and so may be what its address has as parameters.
    scheme, colon, _ = uri.partition(":")
    if not colon or uri.startswith("${"):
        return
    if not _URI.fullmatch(scheme.lower()):
        raise CatalogConfigError(
            f"catalog.uri cannot begin with {scheme!r} in a read; use http, https, thrift, sqlite or "
            "postgresql, or set it in the configuration file",
            property="uri",
        )
    if scheme.lower().startswith(("sqlite", "postgresql")):
        given = {name for name, _ in parse_qsl(uri.partition("?")[2], keep_blank_values=True)}
        if strange := sorted(given - _URI_PARAMETERS):
            raise CatalogConfigError(
                f"catalog.uri cannot have parameters {', '.join(strange)} in a read; set it in the "
                "configuration file",
                property="uri",
            )


def seconds_of(properties: Mapping[str, Any], name: str, default_ms: int) -> float:
    """Return a time that a property gives in milliseconds.

    Raises:
        ValueError: It is no number above 0.
    """
    text = str(properties.get(name, default_ms))
    if not text.isdecimal() or int(text) == 0:
        raise ValueError(f"catalog.{name} must be a number of milliseconds above 0")
    return int(text) / 1000
