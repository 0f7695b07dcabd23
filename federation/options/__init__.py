"""Options from three sources, and the frozen definition of a table that they become.

Secrets stay references here, until `resolve` is called where something connects.
"""

from federation.options.canonical import canonical
from federation.options.config import Config, load_config
from federation.options.definition import TableDefinition, define, list_of, merge_options, store_settings
from federation.options.option import Option, parse_option
from federation.options.options import OPTIONS, under, value_of
from federation.options.passthrough import PASSTHROUGH, REGISTRY
from federation.options.secrets import require_reference, resolve
from federation.options.storage_secrets import storage_for
from federation.options.table_part import Part, split_name

__all__ = [
    "OPTIONS",
    "PASSTHROUGH",
    "REGISTRY",
    "Config",
    "Option",
    "Part",
    "TableDefinition",
    "canonical",
    "define",
    "list_of",
    "load_config",
    "merge_options",
    "parse_option",
    "require_reference",
    "resolve",
    "split_name",
    "storage_for",
    "store_settings",
    "under",
    "value_of",
]
