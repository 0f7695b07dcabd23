"""How a split's process reaches the files of a table: the catalog's properties, with their secrets.

Splits and definitions carry references, so each process resolves them itself, right before it opens
files. What comes back is secret and is never kept, shipped or shown. The file must not know what is
read or written.
"""

from __future__ import annotations

from collections.abc import Mapping

from coldset.table import storage_of
from federation.options.secrets import resolve


def storage_for(catalog_name: str, properties: Mapping[str, str], table: str) -> dict[str, str]:
    """Return pyiceberg's properties for reaching a table's files.

    Args:
        catalog_name: The catalog, as pyiceberg names it.
        properties: Its properties; secrets by reference.
        table: The table's identifier.

    Raises:
        OptionError: A secret's reference names nothing here.
        CatalogConfigError, CatalogUnavailableError, TableNotFoundError: As for `coldset.storage_of`.
    """
    return storage_of(catalog_name, resolve(properties), table)
