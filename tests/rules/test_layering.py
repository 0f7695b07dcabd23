"""Who may import whom, and which foreign library is used where.

The tables below are the rule; every import in every file is held against them,
also those inside functions and under `TYPE_CHECKING`.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter

import pytest

from tests.rules.sources import AROUND, PACKAGES, ROOT, Source, sources

OURS = {*PACKAGES, *AROUND}

# A package may always import itself.
MAY_IMPORT: dict[str, set[str]] = {
    "foundation": set(),
    "coldset": {"foundation"},
    "hotset": {"foundation"},
    "federation": {"coldset", "foundation", "hotset"},
    "kafkaiceberg": {"coldset", "federation", "foundation", "hotset", "pipeline", "sql_gateway"},
    "pipeline": {"coldset", "federation", "foundation", "hotset"},
    "pyspark_kafkaiceberg": {"federation"},
    "sql_gateway": {"federation", "foundation"},
    "stack": OURS,
    "benchmarks": OURS,
    "tests": OURS,
}

# A foreign library and the files or folders that may import it; stack, tests and benchmarks may always.
USED_IN: dict[str, tuple[str, ...]] = {
    "confluent_kafka": ("hotset/kafka/", "hotset/drain/native_source.py"),
    "duckdb": ("federation/engine/",),
    "fastavro": (
        "coldset/ephemeral/avro_schemas.py",
        "coldset/files/avro_rows.py",
        "federation/boundary/connect/control_events.py",
    ),
    "google": ("hotset/decode/protobuf/",),
    "flask": ("sql_gateway/",),
    "pyarrow": ("coldset/", "federation/", "hotset/", "pipeline/", "sql_gateway/"),
    "pyiceberg": ("coldset/",),
    "pyroaring": ("coldset/",),
    "sqlglot": ("kafkaiceberg/table_names.py",),
    "pyspark": ("kafkaiceberg/spark.py", "federation/spark/", "pipeline/"),
    "sqlalchemy": ("coldset/table/sql_catalog.py",),
    "waitress": ("sql_gateway/",),
    "werkzeug": ("sql_gateway/",),
}


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_packages_import_only_what_is_below_them(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package}

    wrong = {(source.path, name) for source in sources(package) for name in source.roots & OURS - allowed}

    assert wrong == set()


def test_folders_are_entered_by_their_face() -> None:
    """A file imports files of its own folder and of those around it, and of any other folder the face."""
    wrong = {
        (source.path, name)
        for source in sources()
        if source.package != "stack"
        for name in source.imported
        if name.split(".")[0] in PACKAGES and not _is_at_the_face(source, name)
    }

    assert wrong == set()


def test_folders_import_each_other_in_one_direction() -> None:
    """So that each can be read, and moved, without those above it."""
    below: dict[str, set[str]] = {}
    for source in sources():
        if source.package != "stack" and not source.path.endswith("__init__.py"):
            for name in source.imported:
                mine, other = _rooms(source.path.removesuffix(".py").split("/"), name.split("."))
                if mine != other and name.split(".")[0] in PACKAGES:
                    below.setdefault(mine, set()).add(other)

    circles = {room for room in below if room in _reached(room, below)}

    assert circles == set()


def test_no_face_hands_out_a_name_of_one_of_its_files() -> None:
    """Else `from folder import name` would mean one or the other by the order of imports."""
    wrong = {
        (source.path, alias.name)
        for source in sources()
        if source.path.endswith("__init__.py")
        for node in source.tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if _is_file(f"{source.path.removesuffix('__init__.py')}{alias.name}")
    }

    assert wrong == set()


def test_no_two_files_of_a_package_share_a_name() -> None:
    names = Counter(
        (source.package, source.path.rsplit("/", 1)[-1])
        for source in sources()
        if not source.path.endswith("__init__.py")
    )

    assert [name for name, count in names.items() if count > 1] == []


def test_foreign_libraries_stay_in_their_files() -> None:
    files = [source for source in sources() if source.package != "stack"]

    wrong = {(source.path, name) for source in files for name in _foreign(source) if not _may(source, name)}

    assert wrong == set()


def test_the_tables_name_every_package_there_is() -> None:
    assert set(MAY_IMPORT) == OURS
    assert {source.package for source in sources()} == set(PACKAGES)


def test_mocks_are_not_imported() -> None:
    wrong = {
        source.path
        for source in sources(*PACKAGES, *AROUND)
        if any(name.startswith(("unittest", "mock", "pytest_mock")) for name in source.imported)
    }

    assert wrong == set()


def _is_file(place: str) -> bool:
    return (ROOT / f"{place}.py").exists() or (ROOT / place / "__init__.py").exists()


def _is_at_the_face(source: Source, name: str) -> bool:
    parts, around = name.split("."), source.path.split("/")[:-1]
    if parts[0] != source.package:
        # Of another package: a file at its top, or one of its folders.
        return len(parts) <= 2
    return parts[:-1] == around[: len(parts) - 1]


def _rooms(mine: list[str], other: list[str]) -> tuple[str, str]:
    """Return the first folders or files at which two names part."""
    same = next((n for n, (a, b) in enumerate(zip(mine, other, strict=False)) if a != b), None)
    if same is None:
        return "", ""
    return ".".join(mine[: same + 1]), ".".join(other[: same + 1])


def _reached(room: str, below: dict[str, set[str]]) -> set[str]:
    found: set[str] = set()
    pending = list(below.get(room, ()))
    while pending:
        if (next_ := pending.pop()) not in found:
            found.add(next_)
            pending.extend(below.get(next_, ()))
    return found


def _foreign(source: Source) -> set[str]:
    return {name for name in source.roots - OURS if name not in sys.stdlib_module_names}


def _may(source: Source, name: str) -> bool:
    return any(source.path.startswith(place) for place in USED_IN.get(name, ()))


def test_nothing_is_imported_from_a_file_of_tests() -> None:
    """What tests share has a file and a name of its own."""
    wrong = {
        (source.path, name)
        for source in sources(*PACKAGES, *AROUND)
        for name in source.imported
        if any(part.startswith("test_") for part in name.split("."))
    }

    assert wrong == set()
