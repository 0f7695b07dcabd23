"""The boundary of tables whose rows carry their Kafka partition and offset.

A boundary from columns needs a proof that no offset below it is missing.
"""

from federation.boundary.columns.columns_resolver import resolve_columns
from federation.boundary.columns.held_offsets import Columns, find_held
from federation.boundary.columns.layouts import KafkaLayout, has_coordinates, layout_of
from federation.boundary.columns.topic_identity import Rows, can_tell, replaced, require_same_topic

__all__ = [
    "Columns",
    "KafkaLayout",
    "Rows",
    "can_tell",
    "find_held",
    "has_coordinates",
    "layout_of",
    "replaced",
    "require_same_topic",
    "resolve_columns",
]
