"""SQL over HTTP: a statement in, rows and their receipt out.

This package knows HTTP and federation, and neither Kafka nor Iceberg. Its face can be imported without the
extra `gateway`, which `sql_gateway.app` and `sql_gateway.serve` need.
"""

from sql_gateway.settings import GatewaySettings, parse_settings

__all__ = ["GatewaySettings", "parse_settings"]
