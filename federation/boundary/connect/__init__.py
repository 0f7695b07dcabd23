"""The boundary of tables that the Apache Iceberg Kafka Connect sink fills.

`resolve_connect` reads the sink's control topic; the other files interpret it.
"""

from federation.boundary.connect.connect_resolver import CONNECT_OFFSETS_PREFIX, resolve_connect

__all__ = ["CONNECT_OFFSETS_PREFIX", "resolve_connect"]
