"""Joins the two halves: definitions, cuts, plans, splits and engines.

The only package that knows both Kafka's half and Iceberg's. It knows nothing of
HTTP.
"""

from federation.config import Config, load_config
from federation.cut import Cut
from federation.errors import ROOTS, FederationError
from federation.receipt import TableReceipt
from federation.table import FederatedTable, Scan, open_table

__all__ = [
    "ROOTS",
    "Config",
    "Cut",
    "FederatedTable",
    "FederationError",
    "Scan",
    "TableReceipt",
    "load_config",
    "open_table",
]
