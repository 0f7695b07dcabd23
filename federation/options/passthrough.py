"""Prefixes under which options of others pass through, in the spelling of those others.

What may stand under a prefix is checked by whoever takes it; only prefixes are known here.
"""

from __future__ import annotations

from typing import Final

REGISTRY: Final = "schema.registry."

PASSTHROUGH: Final = {
    "kafka.": "A librdkafka property; `kafka.bootstrap.servers` is required unless `read` is `cold`. "
    "Only properties that cannot run code or change how ranges are read.",
    REGISTRY: "Where schemas are, as Confluent's clients say it: `schema.registry.url` (several separated by "
    "commas); by reference `.basic.auth.user.info` or `.bearer.auth.token`; `.ssl.ca.location`, "
    "`.ssl.certificate.location`, `.ssl.key.location`, `.ssl.key.password`; `.request.timeout.ms` (10000), "
    "milliseconds for one schema with all it refers to.",
    "catalog.": "A pyiceberg catalog property, such as `catalog.type`, `catalog.uri`, `catalog.warehouse`, "
    "`catalog.s3.endpoint`. A REST catalog may be silent for `catalog.rest.client.socket-timeout-ms` (30000) "
    "milliseconds, and take `catalog.rest.client.connection-timeout-ms` (10000) to connect; one in "
    "PostgreSQL has `catalog.sql.connect-timeout-ms` (10000) to connect, and "
    "`catalog.sql.transaction-timeout-ms` (30000) for what it is asked; an S3 store has "
    "`catalog.s3.connect-timeout` (5) and `catalog.s3.request-timeout` (10) seconds for each of a few tries. "
    "Properties that name code to run, such as `catalog.py-io-impl`, "
    "count in the configuration file and nowhere else.",
}


def prefix_of(key: str) -> str | None:
    """Return the prefix of an option that passes through, or None."""
    return next((p for p in PASSTHROUGH if key.lower().startswith(p) and len(key) > len(p)), None)
