"""How the files of a table are reached, told in the process that reaches them.

A REST catalog may lend credentials for a table in its answer. They are secrets that nobody wrote
down, so they travel nowhere: a process that reads files asks the catalog itself, and keeps the
answer for a while. The file must not know what the files hold.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow.fs
from pyiceberg.io.pyarrow import PyArrowFileIO

from coldset.errors import CatalogConfigError
from coldset.table.catalog import load_table, merged_properties, open_catalog


def filesystem_of(uri: str, io_properties: Mapping[str, str]) -> tuple[pyarrow.fs.FileSystem, str]:
    """Return the file system of a location, and the location's path in it.

    Args:
        uri: The location, with its scheme.
        io_properties: pyiceberg properties for reaching it, secrets resolved.

    Raises:
        CatalogConfigError: There is no such file system.
    """
    scheme, netloc, path = PyArrowFileIO.parse_location(uri, dict(io_properties))
    try:
        return PyArrowFileIO(dict(io_properties)).fs_by_scheme(scheme, netloc), path
    except (ValueError, OSError) as exc:
        raise CatalogConfigError(f"location {uri!r} cannot be reached: {exc}") from exc


def storage_of(catalog_name: str, properties: Mapping[str, str], identifier: str) -> dict[str, str]:
    """Return pyiceberg's properties for reaching a table's files; never to be shipped or shown.

    Args:
        catalog_name: As for `open_catalog`.
        properties: As for `open_catalog`.
        identifier: The table.

    Raises:
        CatalogConfigError: The properties make no catalog.
        CatalogUnavailableError: A REST catalog did not answer.
        TableNotFoundError: It has no such table any more.
    """
    try:
        merged = merged_properties(catalog_name, properties)
    except ValueError as exc:
        raise CatalogConfigError(f"catalog {catalog_name!r} cannot be told: {exc}; set catalog.type") from exc
    if merged["type"] != "rest":
        return {name: value for name, value in merged.items() if isinstance(value, str)}
    from coldset.table.rest_catalog import TimedRestCatalog

    catalog = open_catalog(catalog_name, properties)
    assert isinstance(catalog, TimedRestCatalog)
    lent = catalog.lent(identifier, for_long=True)
    if lent is None:
        load_table(catalog, identifier)
        lent = catalog.lent(identifier, for_long=False) or {}
    return lent
