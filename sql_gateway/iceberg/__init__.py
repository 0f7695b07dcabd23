"""An Iceberg REST catalog, read-only: engines of others read the union as tables of it.

Each load of a table takes a fresh cut and answers with an ephemeral snapshot of it.
"""

from sql_gateway.iceberg.routes import iceberg_routes
from sql_gateway.iceberg.union_catalog import UnionCatalog

__all__ = ["UnionCatalog", "iceberg_routes"]
