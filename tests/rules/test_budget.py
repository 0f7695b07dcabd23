"""How large things may be, and what must be said about them in the file itself.

The budgets are limits for readers, not goals; what does not fit is two things.
"""

from __future__ import annotations

import ast
import re

import pytest

from tests.rules.sources import AROUND, PACKAGES, FunctionNode, Source, sources

FILE_LINES = 300
FILE_LINES_HARD = 400
FUNCTION_LINES_HARD = 60
CONFTEST_LINES = 200
BANNED_NAMES = {"common", "helpers", "manager", "util", "utils"}

# Started as a file in an isolated interpreter: its functions are no interface.
NO_INTERFACE = {"stack/guard.py"}

# Files over the budget and under the hard limit, each with its reason.
OVER_BUDGET: dict[str, str] = {}

EVERYWHERE = sources(*PACKAGES, *AROUND)
PRODUCT = [source for source in sources() if source.package != "stack" and source.path not in NO_INTERFACE]


def test_files_fit_the_budget() -> None:
    lengths = {source.path: len(source.text.splitlines()) for source in EVERYWHERE}

    assert {path: n for path, n in lengths.items() if n > FILE_LINES and path not in OVER_BUDGET} == {}
    assert {path: n for path, n in lengths.items() if n > FILE_LINES_HARD} == {}


def test_functions_fit_the_budget() -> None:
    lengths = {
        f"{source.path}:{function.name}": _body_lines(function)
        for source in EVERYWHERE
        for function in source.functions()
    }

    assert {name: n for name, n in lengths.items() if n > FUNCTION_LINES_HARD} == {}


def test_fixtures_fit_the_budget() -> None:
    lengths = {s.path: len(s.text.splitlines()) for s in EVERYWHERE if s.path.endswith("conftest.py")}

    assert {path: n for path, n in lengths.items() if n > CONFTEST_LINES} == {}


def test_no_file_is_named_after_nothing() -> None:
    stems = {source.path: source.path.rsplit("/", 1)[-1].removesuffix(".py") for source in EVERYWHERE}

    assert {path for path, stem in stems.items() if BANNED_NAMES & set(stem.split("_"))} == set()


@pytest.mark.parametrize("source", EVERYWHERE, ids=lambda source: source.path)
def test_files_begin_by_saying_why_they_exist(source: Source) -> None:
    text = ast.get_docstring(source.tree)

    if source.path.endswith("__init__.py") and not source.text.strip():
        return
    assert text is not None
    assert len(_sentences(text)) >= 2 or source.path == "pyspark_kafkaiceberg/__init__.py"


def _body_lines(function: FunctionNode) -> int:
    # The docstring is for readers too, and must not be what is saved on.
    first = function.body[0]
    is_documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    documented = (first.end_lineno or 0) - first.lineno + 1 if is_documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - documented


def _sentences(text: str) -> list[str]:
    return re.findall(r"[^.!?;:]+[.!?;:](?=\s|$)", text)
