"""Options from three sources, and the frozen definition of a table that they become.

Secrets stay references here, until `resolve` is called where something connects.

    option.py      what one option is, and how a set of them is checked and read
    options.py     the one table of options
    config.py      `kafkaiceberg.toml`
    ddl.py         the schema of a topic without a table, as users write it
    secrets.py     references to secrets, and what they name
    definition.py  one table with its options settled
"""

from federation.options.config import Config, load_config, note_absence
from federation.options.option_set import Option, OptionSet
from federation.options.option_table import OPTIONS, REGISTRY_PREFIX
from federation.options.secrets import resolve, storage_for
from federation.options.table_definition import (
    Part,
    TableDefinition,
    define,
    merge_options,
    split_name,
    store_settings,
)

__all__ = [
    "OPTIONS",
    "REGISTRY_PREFIX",
    "Config",
    "Option",
    "OptionSet",
    "Part",
    "TableDefinition",
    "define",
    "load_config",
    "merge_options",
    "note_absence",
    "resolve",
    "split_name",
    "storage_for",
    "store_settings",
]
