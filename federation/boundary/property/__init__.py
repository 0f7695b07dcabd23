"""Boundaries that are stated: in a snapshot's summary, or by the user.

The property is `kafkaiceberg.offsets`.
"""

from federation.boundary.property.declared_resolver import resolve_declared
from federation.boundary.property.property_resolver import resolve_summary
from federation.boundary.property.snapshot_property import (
    OFFSETS_PROPERTY,
    PIN_TAG,
    parse_offsets,
    render_offsets,
)

__all__ = [
    "OFFSETS_PROPERTY",
    "PIN_TAG",
    "parse_offsets",
    "render_offsets",
    "resolve_declared",
    "resolve_summary",
]
