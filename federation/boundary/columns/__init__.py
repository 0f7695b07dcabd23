"""The boundary of tables whose rows carry their Kafka partition and offset.

A boundary from columns needs a proof that no offset below it is missing.
"""

from federation.boundary.columns.columns_resolver import resolve_columns
from federation.boundary.columns.layouts import KafkaLayout, has_coordinates, layout_of
from federation.boundary.columns.topic_identity import replaced

__all__ = ["KafkaLayout", "has_coordinates", "layout_of", "replaced", "resolve_columns"]
