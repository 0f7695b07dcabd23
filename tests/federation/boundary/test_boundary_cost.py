"""What was found out about a snapshot is not found out again, and what may change is.

A statement asks the catalog once, and parses a metadata file once in its life; a boundary is kept by
snapshot and definition, an error is not.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from sqlalchemy import event

import federation.boundary.resolve as resolve
from coldset.table.metadata_file import read_metadata
from federation.boundary.spark.spark_resolver import SPARK_EPOCH_ID, SPARK_QUERY_ID
from federation.cut.take import take_cut
from federation.errors import BoundaryUnknownError
from tests.builders import Lake, commit_until, produce
from tests.conftest import MakeLake

pytestmark = pytest.mark.kafka

ROWS = pa.schema([("seq", pa.int64())])


@contextmanager
def catalog_questions(lake: Lake) -> Iterator[list[str]]:
    """What the catalog's database is asked meanwhile."""
    asked: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        asked.append(statement)

    catalog = lake.catalog
    assert isinstance(catalog, SqlCatalog)
    event.listen(catalog.engine, "before_cursor_execute", note)
    try:
        yield asked
    finally:
        event.remove(catalog.engine, "before_cursor_execute", note)


def stream_epoch(lake: Lake, checkpoint: Path, end: int) -> None:
    """A commit of Spark's streaming sink, and its checkpoint, as the real ones leave them."""
    (checkpoint / "offsets").mkdir(parents=True)
    (checkpoint / "metadata").write_text('{"id":"the-query"}')
    (checkpoint / "offsets" / "0").write_text(f"v1\n{{}}\n{json.dumps({lake.topic: {'0': end}})}\n")
    rows = pa.table({"seq": list(range(end))}, schema=ROWS)
    lake.load().append(rows, snapshot_properties={SPARK_QUERY_ID: "the-query", SPARK_EPOCH_ID: "0"})


@pytest.fixture
def made(lake: MakeLake) -> Lake:
    fresh = lake(partitions=1, schema=ROWS)
    produce(fresh.bootstrap, fresh.topic, [{"seq": i} for i in range(10)])
    return fresh


def test_a_statement_asks_the_catalog_once(made: Lake) -> None:
    commit_until(made, {0: 6})
    statement = f"SELECT count(*) AS n FROM {made.table} a JOIN {made.table} b USING (seq)"

    with catalog_questions(made) as asked:
        answer = made.sql(statement)

    assert answer.rows.to_pylist() == [{"n": 10}]
    assert len(asked) == 1


def test_a_boundary_is_found_once_whatever_time_a_statement_has_left(
    made: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_until(made, {0: 6})
    found: list[object] = []
    real = resolve._resolve
    monkeypatch.setattr(resolve, "_resolve", lambda *asked: found.append(asked) or real(*asked))

    for within_ms in (9000, 8000, 7000):
        take_cut(made.merged(), within_ms=within_ms)

    assert len(found) == 1


def test_a_metadata_file_is_parsed_once(made: Lake) -> None:
    first, second = made.load(), made.load()

    assert first.metadata is second.metadata
    assert first is not second

    first.append(pa.table({"seq": [0]}, schema=ROWS))

    assert made.load().metadata.current_snapshot_id != second.metadata.current_snapshot_id


def test_a_metadata_file_whose_name_may_be_used_again_is_read_again(made: Lake, tmp_path: Path) -> None:
    table = made.load()
    again = tmp_path / "v1.metadata.json"
    shutil.copy(table.metadata_location.removeprefix("file://"), again)
    before = read_metadata(table.io, str(again))
    table.append(pa.table({"seq": [0]}, schema=ROWS))
    shutil.copy(made.load().metadata_location.removeprefix("file://"), again)

    after = read_metadata(table.io, str(again))

    assert (len(before.snapshots), len(after.snapshots)) == (0, 1)


def test_a_boundary_that_was_found_stays_when_what_told_it_is_gone(made: Lake, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    stream_epoch(made, checkpoint, 4)
    streamed = made.having(checkpointLocation=str(checkpoint))
    assert streamed.open().cut().committed(0) == 4
    shutil.rmtree(checkpoint)

    assert streamed.open().cut().committed(0) == 4
    with pytest.raises(BoundaryUnknownError):
        made.having(checkpointLocation=str(tmp_path / "another")).open().cut()


def test_an_error_is_not_kept(made: Lake, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    stream_epoch(made, checkpoint, 4)
    streamed = made.having(checkpointLocation=str(checkpoint))
    aside = checkpoint.rename(tmp_path / "aside")
    with pytest.raises(BoundaryUnknownError):
        streamed.open().cut()
    aside.rename(checkpoint)

    assert streamed.open().cut().committed(0) == 4
