"""Tables in any catalog with any warehouse, described by how they are reached.

Tests of catalogs and stores say what holds or what breaks; where a table is, is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pytest

from coldset.plan.file_plan import plan_cold
from coldset.read.read_files import read_cold
from coldset.table.catalog import PinnedTable, open_catalog, pin
from coldset.table.storage import storage_of
from federation.options.secrets import is_secret
from stack.objects import ObjectStore
from stack.postgres import PASSWORD

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("name", pa.string())])


@dataclass(frozen=True)
class Site:
    """A catalog, a warehouse, and a table in them that nobody else has."""

    properties: Mapping[str, str]
    table: str

    def pin(self) -> PinnedTable:
        return pin(open_catalog("site", self.properties), self.table)

    def append(self, *ids: int) -> None:
        self.pin().table.append(rows(*ids))

    def read(self) -> list[int]:
        pinned = self.pin()
        storage = storage_of("site", self.properties, self.table)
        tasks = plan_cold(pinned, split_bytes=1 << 20)
        return sorted(
            x for task in tasks for b in read_cold(task, ("id",), storage) for x in b["id"].to_pylist()
        )

    def options(self, **more: str) -> dict[str, str]:
        given = {f"catalog.{name}": value for name, value in self.properties.items()}
        return {**given, "catalog.name": "site", "read": "cold", **more}

    def having(self, **properties: str) -> Site:
        named = {name.replace("_", "."): value for name, value in properties.items()}
        return Site({**self.properties, **named}, self.table)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": ids, "name": [f"n{x}" for x in ids]}, SCHEMA)


MakeSite = Callable[..., Site]


def of_store(store: ObjectStore, endpoint: str | None = None) -> dict[str, str]:
    return {
        "s3.endpoint": endpoint or store.endpoint,
        "s3.access-key-id": store.access_key_id,
        "s3.secret-access-key": store.secret_access_key,
    }


def with_references(site: Site, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The options of a site with its secrets by reference, as options must be."""
    options = site.options()
    for number, (name, value) in enumerate(sorted(options.items())):
        secret = value if is_secret(name) else PASSWORD
        if secret in value:
            monkeypatch.setenv(f"OF_SITE_{number}", secret)
            options[name] = value.replace(secret, f"${{env:OF_SITE_{number}}}")
    return options
