"""The Python files that the rules are about, read once and parsed.

Rules look at syntax trees only; nothing is imported or run here.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = (
    "coldset",
    "federation",
    "foundation",
    "hotset",
    "kafkaiceberg",
    "pipeline",
    "pyspark_kafkaiceberg",
    "sql_gateway",
    "stack",
)
AROUND = ("benchmarks", "tests")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Source:
    """One file: where it is from the root, its text and its tree."""

    path: str
    text: str
    tree: ast.Module

    @property
    def package(self) -> str:
        return self.path.split("/", 1)[0]

    @property
    def imported(self) -> set[str]:
        """Full names of all imported modules, wherever in the file they are imported."""
        names: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                module = node.module or ""
                files = {f"{module}.{alias.name}" for alias in node.names}
                names.update(module if _is_no_module(name) else name for name in files)
        return names

    @property
    def roots(self) -> set[str]:
        """First parts of the names of all imported modules."""
        return {name.split(".", 1)[0] for name in self.imported}

    def functions(self) -> Iterator[FunctionNode]:
        return (node for node in ast.walk(self.tree) if isinstance(node, FunctionNode))


def _is_no_module(name: str) -> bool:
    place = ROOT.joinpath(*name.split("."))
    return not place.with_suffix(".py").exists() and not (place / "__init__.py").exists()


@functools.cache
def sources(*packages: str) -> tuple[Source, ...]:
    """Return the files of these packages, or of the product's packages if none are named."""
    found = []
    for package in packages or PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            found.append(Source(path.relative_to(ROOT).as_posix(), text, ast.parse(text)))
    return tuple(found)
