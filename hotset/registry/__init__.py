"""Schemas from a schema registry, each fetched once per process.

Formats are not known here.
"""

from hotset.registry.registered_schema import Kind, RegisteredSchema
from hotset.registry.registry_client import SchemaRegistry, registry_for
from hotset.registry.registry_settings import SECRET_REGISTRY_PROPERTIES, check_names

__all__ = [
    "SECRET_REGISTRY_PROPERTIES",
    "Kind",
    "RegisteredSchema",
    "SchemaRegistry",
    "check_names",
    "registry_for",
]
