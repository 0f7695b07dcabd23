"""A docstring says `Raises` exactly if something is raised: no error is left out, and none is made up.

Calls are followed by name alone, so a name that several functions share stands for all of them. Errors of
other libraries are not followed.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from tests.rules.sources import FunctionNode, sources

PRODUCT = [source for source in sources() if source.package != "stack"]
RAISED = re.compile(r"^( +)Raises:\n(.*?)(?=\n\1\S|\Z)", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"^ +([\w.]+(?:, [\w.]+)*):", re.MULTILINE)


@dataclass(frozen=True)
class Function:
    """A function, the errors it raises itself, those its docstring names, and what it calls."""

    place: str
    raised: frozenset[str]
    named: frozenset[str]
    calls: frozenset[str]
    is_protocol: bool
    is_public: bool
    has_section: bool


def test_what_a_public_function_raises_is_in_its_docstring() -> None:
    silent = {
        (function.place, error)
        for function in functions()
        if function.is_public
        for error in function.raised
        if error in ours() and not any(error in below(name) for name in function.named)
    }

    assert silent == set()


def test_what_a_docstring_says_is_raised_is_raised() -> None:
    made_up = {
        (function.place, name)
        for function in functions()
        for name in function.named
        # A protocol's docstring speaks for whoever follows it.
        if name in ours() and not function.is_protocol and not below(name) & reached(function)
    }

    assert made_up == set()


def test_a_section_of_errors_names_one() -> None:
    empty = {function.place for function in functions() if function.has_section and not function.named}

    assert empty == set()


@cache
def functions() -> tuple[Function, ...]:
    return tuple(
        found
        for source in PRODUCT
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Module | ast.ClassDef)
        for function in node.body
        if isinstance(function, FunctionNode)
        for found in [_read(f"{source.path}:{function.name}", function, node)]
    )


def _read(place: str, node: FunctionNode, around: ast.AST) -> Function:
    text = ast.get_docstring(node, clean=False) or ""
    section = RAISED.search(text)
    named = (
        {name.strip() for names in NAMED.findall(section[2]) for name in names.split(",")}
        if section
        else set()
    )
    return Function(
        place,
        frozenset(_raised(node)),
        frozenset(named),
        frozenset(_called(node)),
        is_protocol=isinstance(node.body[-1], ast.Expr) and len(node.body) <= 2,
        is_public=not node.name.startswith("_") and isinstance(around, ast.Module),
        has_section=section is not None,
    )


def _raised(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Raise) and each.exc is not None:
            raised = each.exc.func if isinstance(each.exc, ast.Call) else each.exc
            yield raised.attr if isinstance(raised, ast.Attribute) else getattr(raised, "id", "")


def _called(node: ast.AST) -> Iterator[str]:
    # A function that is handed over is called by somebody.
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            yield each.id
        elif isinstance(each, ast.Attribute):
            yield each.attr


@cache
def ours() -> frozenset[str]:
    """Names of all error classes of the product."""
    return frozenset(parents()) - set(vars(builtins))


@cache
def parents() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for source in PRODUCT:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and node.name.endswith(("Error", "Gone")):
                bases = (base.id for base in node.bases if isinstance(base, ast.Name))
                found[node.name] = tuple(bases)
    return found


@cache
def below(name: str) -> frozenset[str]:
    """Return the names of an error and of all that are one."""
    children = {child for child, bases in parents().items() if name in bases}
    return frozenset({name}).union(*(below(child) for child in children))


@cache
def reached(function: Function) -> frozenset[str]:
    """Return all errors that a function or what it calls may raise."""
    by_name: dict[str, list[Function]] = {}
    for each in functions():
        by_name.setdefault(each.place.rsplit(":", 1)[1], []).append(each)
    for each in (*parents(), *_classes()):
        by_name.setdefault(each, []).extend(_classes().get(each, ()))
    seen, pending, found = set[str](), list(function.calls), set(function.raised)
    while pending:
        if (name := pending.pop()) not in seen:
            seen.add(name)
            found.add(name)
            for each in by_name.get(name, ()):
                found |= each.raised
                pending.extend(each.calls)
    return frozenset(found)


@cache
def _classes() -> dict[str, tuple[Function, ...]]:
    """Return what making an object of a class calls."""
    return {
        node.name: tuple(
            _read(f"{source.path}:{item.name}", item, node)
            for item in node.body
            if isinstance(item, FunctionNode) and item.name in ("__init__", "__post_init__", "__enter__")
        )
        for source in PRODUCT
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef)
    }
