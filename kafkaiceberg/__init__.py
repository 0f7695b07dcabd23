"""The face: a topic and its Iceberg table, read as one table.

    import kafkaiceberg
    orders = kafkaiceberg.open_table("lake.orders")
    scan = orders.scan()
    rows = scan.to_arrow()      # the snapshot, and every record beyond it
    print(scan.receipt)         # at which cut, and how fresh

Only re-exports are here.
"""

from federation import (
    ROOTS,
    Config,
    Cut,
    FederatedTable,
    FederationError,
    Scan,
    TableReceipt,
    load_config,
    open_table,
)

__version__ = "0.1.0"

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
