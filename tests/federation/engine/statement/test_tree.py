"""Walks through a statement's tree: whole, in order, and however deep it is."""

from __future__ import annotations

import sys
from typing import Any

from federation.engine.statement.syntax_tree import nodes_of, texts_of

TREE = {"type": "A", "parts": [{"type": "B", "value": 1}, ["C", None, {"type": "D"}]]}


def test_nodes_are_those_at_any_place() -> None:
    assert sorted(node["type"] for node in nodes_of(TREE)) == ["A", "B", "D"]


def test_texts_are_values_and_no_keys() -> None:
    assert sorted(texts_of(TREE)) == ["A", "B", "C", "D"]


def test_a_tree_that_is_deeper_than_python_recurses_is_walked() -> None:
    depth = 2 * sys.getrecursionlimit()
    tree: dict[str, Any] = {}
    for _ in range(depth):
        tree = {"parts": [tree], "name": "x"}
    assert sum(1 for _ in nodes_of(tree)) == depth + 1
    assert list(texts_of(tree)) == ["x"] * depth


def test_what_is_put_into_a_node_is_met_and_what_it_replaces_is_not() -> None:
    tree = {"type": "A", "part": {"type": "B"}}
    met = []
    for node in nodes_of(tree):
        met.append(node["type"])
        if node["type"] == "A":
            node["part"] = {"type": "C"}
    assert met == ["A", "C"]
