"""Walks through the tree of a statement, as `json_serialize_sql` answers it: one for nodes, one for texts.

A tree may be as deep as Python recurses, so nothing here recurses. A node is handed out before its parts are
looked for, so whoever changes it meets what it has put there. This file must not know what nodes mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def nodes_of(tree: Any) -> Iterator[dict[str, Any]]:
    """Yield every node of a tree, each before its parts."""
    return (each for each in _walk(tree) if isinstance(each, dict))


def texts_of(tree: Any) -> Iterator[str]:
    """Yield every text of a tree, those of constants too."""
    return (each for each in _walk(tree) if isinstance(each, str))


def _walk(tree: Any) -> Iterator[Any]:
    pending = [tree]
    while pending:
        found = pending.pop()
        yield found
        if isinstance(found, dict):
            pending.extend(found.values())
        elif isinstance(found, list):
            pending.extend(found)
