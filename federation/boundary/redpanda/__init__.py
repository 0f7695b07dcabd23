"""The boundary of tables that Redpanda fills: its Iceberg Topics.

Redpanda answers over HTTP.
"""

from federation.boundary.redpanda.redpanda_resolver import REDPANDA_MARK, resolve_redpanda

__all__ = ["REDPANDA_MARK", "resolve_redpanda"]
