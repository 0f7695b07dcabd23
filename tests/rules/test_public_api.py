"""The names that users and neighbours may rely on.

A name added or taken away here is a change of the interface, and has to be
meant.
"""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import kafkaiceberg
from tests.rules.sources import PACKAGES, sources

PINNED = [
    "BoundaryUnknownError",
    "CatalogUnavailableError",
    "Config",
    "Cut",
    "CutError",
    "CutTokenError",
    "DecodeError",
    "FederatedTable",
    "KafkaIcebergError",
    "KafkaUnavailableError",
    "OffsetGapError",
    "OptionError",
    "Scan",
    "TableNotFoundError",
    "TableReceipt",
    "TopicNotFoundError",
    "TopicReplacedError",
    "load_config",
    "open_table",
]

FACES = [
    source.path.removesuffix("/__init__.py").replace("/", ".")
    for source in sources()
    if source.path.endswith("__init__.py") and "__all__" in source.text
]


def test_the_public_names_are_these() -> None:
    assert kafkaiceberg.__all__ == PINNED
    classes = [getattr(kafkaiceberg, name) for name in PINNED]
    assert len([c for c in classes if not _is_error(c)]) <= 12


def test_the_data_source_is_found_under_its_name() -> None:
    source = importlib.import_module("pyspark_kafkaiceberg").DefaultSource

    assert source.name() == "kafkaiceberg"


@pytest.mark.parametrize("package", FACES)
def test_exported_names_are_sorted_and_exist(package: str) -> None:
    module = importlib.import_module(package)

    names = module.__all__

    assert names == sorted(names, key=_constants_classes_functions)
    assert [name for name in names if not hasattr(module, name)] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_tell_type_checkers_that_they_are_annotated(package: str) -> None:
    found = pkgutil.get_data(package, "py.typed")

    assert found is not None


def _is_error(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, Exception)


def _constants_classes_functions(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)
