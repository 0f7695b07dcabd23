"""SQL over HTTP: a statement in, rows and their receipt out.

This package knows HTTP and federation, and neither Kafka nor Iceberg.
"""

from sql_gateway.app import create_app
from sql_gateway.settings import GatewaySettings, parse_settings

__all__ = ["GatewaySettings", "create_app", "parse_settings"]
