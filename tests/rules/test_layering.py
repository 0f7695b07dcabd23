"""Who may import whom, and which foreign library is used where.

The tables below are the rule; every import in every file is held against them,
also those inside functions and under `TYPE_CHECKING`.
"""

from __future__ import annotations

import sys

import pytest

from tests.rules.sources import AROUND, PACKAGES, Source, sources

OURS = {*PACKAGES, *AROUND}

# A package may always import itself.
MAY_IMPORT: dict[str, set[str]] = {
    "coldset": set(),
    "federation": {"coldset", "hotset"},
    "hotset": set(),
    "kafkaiceberg": {"coldset", "federation", "hotset", "pipeline", "sql_gateway"},
    "pipeline": {"coldset", "federation", "hotset"},
    "pyspark_kafkaiceberg": {"federation"},
    "sql_gateway": {"federation"},
    "stack": OURS,
    "benchmarks": OURS,
    "tests": OURS,
}

# A foreign library and the files or folders that may import it; stack, tests and benchmarks may always.
USED_IN: dict[str, tuple[str, ...]] = {
    "confluent_kafka": (
        "hotset/client.py",
        "hotset/native/source.py",
        "hotset/translate.py",
        "hotset/retention.py",
        "hotset/source.py",
        "hotset/trouble.py",
    ),
    "duckdb": ("federation/engine/", "hotset/decode/json_tokens.py"),
    "fastavro": ("coldset/avro_rows.py", "federation/boundary/connect_events.py"),
    "google": ("hotset/decode/protobuf/",),
    "flask": ("sql_gateway/",),
    "pyarrow": ("coldset/", "federation/", "hotset/", "pipeline/", "sql_gateway/"),
    "pyiceberg": ("coldset/",),
    "pyroaring": ("coldset/",),
    "pyspark": ("federation/spark_form.py", "federation/spark_source.py", "pipeline/"),
    "sqlalchemy": ("coldset/sql.py",),
    "waitress": ("sql_gateway/",),
    "werkzeug": ("sql_gateway/",),
}


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_packages_import_only_what_is_below_them(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package}

    wrong = {(source.path, name) for source in sources(package) for name in source.roots & OURS - allowed}

    assert wrong == set()


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


def _foreign(source: Source) -> set[str]:
    return {name for name in source.roots - OURS if name not in sys.stdlib_module_names}


def _may(source: Source, name: str) -> bool:
    return any(source.path.startswith(place) for place in USED_IN.get(name, ()))
