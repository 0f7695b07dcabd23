"""How Spark reaches an Iceberg catalog: settings of a catalog by what it is, without its name.

A table is made by Iceberg's runtime where a test wants it, in a file or behind servers. This file starts
nothing, and must not know tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stack.objects import ObjectStore
from stack.rest_catalog import RestCatalog

Catalog = Path | Mapping[str, str]


def settings_of(catalog: Catalog) -> dict[str, str]:
    """Return the settings of a catalog, which may be the SQLite file of a pyiceberg SQL catalog."""
    if not isinstance(catalog, Path):
        return dict(catalog)
    return {
        "type": "jdbc",
        "uri": f"jdbc:sqlite:{catalog}?busy_timeout=10000",
        "warehouse": catalog.parent.as_uri(),
        "cache-enabled": "false",
        "jdbc.schema-version": "V1",
        "jdbc.init-catalog-tables": "false",
    }


def rest_settings(catalog: RestCatalog, store: ObjectStore) -> dict[str, str]:
    """Return the settings of a REST catalog whose warehouse is in an object store."""
    return {
        "type": "rest",
        "uri": catalog.uri,
        "cache-enabled": "false",
        # Of this one S3 paths are read as objects, and imported files of this machine as what they are.
        "io-impl": "org.apache.iceberg.io.ResolvingFileIO",
        "s3.endpoint": store.endpoint,
        "s3.access-key-id": store.access_key_id,
        "s3.secret-access-key": store.secret_access_key,
        "s3.path-style-access": "true",
        "client.region": "us-east-1",
    }
