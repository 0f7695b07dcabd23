"""Which files and rows cannot match a predicate, decided from metadata alone.

Predicates are plain values; nothing here opens a data file.
"""

from coldset.prune.column_facts import UNKNOWN, Fact, comparable
from coldset.prune.predicate import (
    AllOf,
    AnyOf,
    Compared,
    IsNull,
    Literals,
    NotNull,
    Predicate,
    Sign,
    StartsWith,
    all_of,
    any_of,
    columns_of,
)
from coldset.prune.pruning import may_match
from coldset.prune.table_facts import facts_of_files, facts_of_manifests

__all__ = [
    "UNKNOWN",
    "AllOf",
    "AnyOf",
    "Compared",
    "Fact",
    "IsNull",
    "Literals",
    "NotNull",
    "Predicate",
    "Sign",
    "StartsWith",
    "all_of",
    "any_of",
    "columns_of",
    "comparable",
    "facts_of_files",
    "facts_of_manifests",
    "may_match",
]
