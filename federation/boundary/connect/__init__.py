"""The boundary of tables that the Apache Iceberg Kafka Connect sink fills.

`resolve_connect` reads the sink's control topic; the other files interpret it.
"""

from federation.boundary.connect.connect_resolver import PREFIX, resolve_connect

__all__ = ["PREFIX", "resolve_connect"]
