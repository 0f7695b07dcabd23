"""Faults of the table: whatever maintenance, people and disks do to it while it is queried."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyiceberg.transforms import BucketTransform
from pyiceberg.types import LongType

from tests.builders import make_table
from tests.oracle import ways
from tests.oracle.faults.round import SCHEMA, Round
from tests.oracle.steps import STEPS, before
from tests.oracle.world import World


def compact(here: World) -> None:
    """Rewrite all rows into new files, with a snapshot that knows nothing of offsets."""
    table = here.lake.load()
    table.overwrite(table.scan().to_arrow())


def stranger(here: World) -> None:
    """A commit of nobody's rows."""
    here.lake.load().append(pa.Table.from_pylist([], schema=SCHEMA))


def add_column(here: World) -> None:
    with here.lake.load().update_schema() as update:
        update.add_column(f"added_{time.time_ns()}", LongType())


def rename_and_widen(here: World) -> None:
    with here.lake.load().update_schema() as update:
        update.add_column("note", LongType())
    with here.lake.load().update_schema() as update:
        update.rename_column("note", "remark")


def repartition(here: World) -> None:
    with here.lake.load().update_spec() as update:
        update.add_field("seq", BucketTransform(4), f"bucket_{time.time_ns()}")


def expire(here: World) -> None:
    """Expire all that no ref keeps."""
    now = datetime.fromtimestamp(time.time() + 1, UTC)
    here.lake.load().maintenance.expire_snapshots().older_than(now).commit()


def roll_back(here: World) -> None:
    table = here.lake.load()
    head = table.current_snapshot()
    assert head is not None
    if head.parent_snapshot_id is not None:
        table.manage_snapshots().rollback_to_snapshot(head.parent_snapshot_id).commit()


def write_to_branch(here: World) -> None:
    table = here.lake.load()
    head = table.current_snapshot()
    assert head is not None
    name = f"branch_{time.time_ns()}"
    table.manage_snapshots().create_branch(head.snapshot_id, name).commit()
    row = {"run": "branch", "producer": "branch", "seq": 0, "kafka_partition": 0, "kafka_offset": 10**9}
    here.lake.load().append(pa.Table.from_pylist([row], schema=SCHEMA), branch=name)


def drop_and_create(here: World) -> None:
    here.lake.catalog.drop_table(here.lake.table)
    make_table(here.lake.catalog, here.lake.table, SCHEMA)


OPERATIONS: list[Callable[[World], None]] = [
    compact, stranger, add_column, rename_and_widen, repartition, expire, roll_back, write_to_branch,
    drop_and_create,
]  # fmt: skip


def i5c_maintenance(round_: Round) -> None:
    """Compaction, schema and spec changes, expiry, rollback, branches, drop and create, at any step."""
    here = round_.begun()
    for operation in round_.rng.sample(OPERATIONS, 3):
        round_.some(here)
        round_.freeze(here)
        round_.some(here)
        with round_.patching() as patch:
            step = round_.rng.choice(STEPS)
            before(patch, step, lambda it=operation: round_.inject(lambda: it(here)))
            round_.ask(here, {f"library, {operation.__name__} before {step}": ways.library})
        round_.ask(here)
    round_.some(here)
    round_.freeze(here)
    round_.heals(here)


def i5c_loop(round_: Round) -> None:
    """The same in a loop, with freezes between them, while all ways are asked."""
    here = round_.begun()

    def happen() -> None:
        for operation in round_.rng.sample(OPERATIONS, 5):
            round_.some(here)
            operation(here)
            round_.some(here)
            round_.freeze(here)

    round_.meanwhile(here, happen)
    round_.heals(here)


def i7c_files(round_: Round) -> None:
    """A data file, manifest or metadata file of the table that is missing, cut short or damaged."""
    here = round_.begun()
    round_.some(here)
    table = here.lake.load()
    snapshot = table.current_snapshot()
    assert snapshot is not None
    data = [task.file.file_path for task in table.scan().plan_files()]
    manifests = [manifest.manifest_path for manifest in snapshot.manifests(table.io)]
    chosen = round_.rng.choice([*data, *manifests, snapshot.manifest_list, table.metadata_location])
    path = Path(unquote(urlsplit(chosen).path))
    whole = path.read_bytes()
    how = round_.rng.choice(["missing", "cut short", "empty"])
    if how == "missing":
        round_.inject(path.unlink)
    else:
        left = whole[: round_.rng.randint(1, len(whole) - 1)] if how == "cut short" else b""
        round_.inject(lambda: path.write_bytes(left) and None)
    round_.ask(here)  # right all the same, where what the file says is known already
    path.write_bytes(whole)
    round_.heals(here)
