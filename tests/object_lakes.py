"""Lakes whose files are in an object store, reached with credentials by reference.

Where files are decides how each engine reaches them, so it is asked of freezes and of catalogs alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stack.objects import ObjectStore
from tests.builders import Lake, make_table, make_topic, unique
from tests.coldset.sites import of_store


@dataclass(frozen=True)
class ObjectLake(Lake):
    """A lake on disk but for its files."""

    reach: tuple[tuple[str, str], ...] = ()
    secrets: Path = Path()

    @property
    def catalog_properties(self) -> dict[str, str]:
        return {**super().catalog_properties, **dict(self.reach)}

    @property
    def options(self) -> dict[str, str]:
        by_file = {
            f"catalog.s3.{name}": f"${{file:{self.secrets / name}}}"
            for name in ("access-key-id", "secret-access-key")
        }
        return {**super().options, **by_file}


def object_lake(bootstrap: str, store: ObjectStore, folder: Path) -> ObjectLake:
    """A catalog in a folder, a table in a store, and a topic of one partition."""
    topic = make_topic(bootstrap, unique("events"), partitions=1)
    reach = of_store(store)
    for name in ("access-key-id", "secret-access-key"):
        (folder / name).write_text(reach[f"s3.{name}"])
    reach["warehouse"] = f"{store.uri}/{topic}"
    made = ObjectLake(bootstrap, folder, f"lake.{topic}", topic, reach=tuple(reach.items()), secrets=folder)
    make_table(made.catalog, made.table)
    return made
