"""The face: a topic and its Iceberg table, read as one table.

    import kafkaiceberg
    orders = kafkaiceberg.open_table("lake.orders")
    scan = orders.scan()
    rows = scan.to_arrow()      # the snapshot, and every record beyond it
    print(scan.receipt)         # at which cut, and how fresh

Only re-exports are here. Every error that is raised on purpose is a `KafkaIcebergError`; those that
programs handle by name are exported, too.
"""

from coldset.errors import CatalogUnavailableError, TableNotFoundError
from federation.cut import Cut
from federation.errors import (
    BoundaryUnknownError,
    CutError,
    CutTokenError,
    OffsetGapError,
    OptionError,
    TopicReplacedError,
)
from federation.options import Config, load_config
from federation.receipt import TableReceipt
from federation.table import FederatedTable, Scan, open_table
from foundation.errors import KafkaIcebergError
from hotset.errors import DecodeError, KafkaUnavailableError, TopicNotFoundError

__version__ = "0.1.0"

__all__ = [
    "BoundaryUnknownError",
    "CatalogUnavailableError",
    "Config",
    "Cut",
    "CutError",
    "CutTokenError",
    "DecodeError",
    "FederatedTable",
    "KafkaIcebergError",
    "KafkaUnavailableError",
    "OffsetGapError",
    "OptionError",
    "Scan",
    "TableNotFoundError",
    "TableReceipt",
    "TopicNotFoundError",
    "TopicReplacedError",
    "load_config",
    "open_table",
]
