"""A cut of any table that Iceberg's runtime has made is the same to engines of others as it is to ours.

Tables are recorded; each is given hot rows. pyiceberg reads what it can of their ephemeral snapshots, and
Spark's own reader all of it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable

from federation.cut.take import take_cut
from federation.engine.run.query import run_query
from federation.ephemeral.publisher import EphemeralSnapshot, publish_cut
from federation.errors import FederationError
from stack import KafkaBroker
from tests.coldset.agreement import SparkTable, as_sorted, as_typed
from tests.federation.ephemeral.hot_rows import give_topic
from tests.federation.ephemeral.native_reader import read_natively
from tests.federation.ephemeral.recorded_shapes import MISCOUNTED, SHAPES, play

pytestmark = pytest.mark.kafka

Play = Callable[[str], SparkTable]
HOT = 12


@pytest.fixture
def played(tmp_path: Path) -> Play:
    """Puts a table of some shape in place again."""
    return lambda shape: play(shape, tmp_path)


def publish(options: Mapping[str, str]) -> EphemeralSnapshot:
    return publish_cut(take_cut(options))


@pytest.mark.parametrize("shape", SHAPES)
def test_metadata_is_the_tables_own_with_one_more_snapshot(
    played: Play, broker: KafkaBroker, shape: str
) -> None:
    table = played(shape)
    options = give_topic(table, broker.bootstrap, HOT)
    real = table.pin().table.metadata
    found = publish(options)
    told = found.metadata

    assert told["table-uuid"] == str(real.table_uuid)
    assert told["format-version"] == max(2, real.format_version)
    assert told["current-snapshot-id"] == told["refs"]["main"]["snapshot-id"] == found.snapshot_id
    assert [s["schema-id"] for s in told["schemas"]] == [s.schema_id for s in real.schemas]
    assert told["last-column-id"] == real.last_column_id
    assert {s["spec-id"] for s in told["partition-specs"]} >= {s.spec_id for s in real.partition_specs}
    assert told["properties"].items() >= {
        name: value for name, value in real.properties.items() if not name.startswith("gc.")
    }.items() - {("write.metadata.delete-after-commit.enabled", "true")}
    snapshot = next(s for s in told["snapshots"] if s["snapshot-id"] == found.snapshot_id)
    assert (
        snapshot["sequence-number"] == told["last-sequence-number"] > getattr(real, "last_sequence_number", 0)
    )
    assert snapshot["summary"]["kafkaiceberg.cut"] == found.cut
    assert snapshot["summary"]["kafkaiceberg.rows-hot"] == str(HOT)
    assert (snapshot["summary"]["operation"], snapshot["summary"]["added-records"]) == ("append", str(HOT))
    # Nothing was committed.
    assert table.pin().table.metadata == real


@pytest.mark.parametrize("shape", SHAPES)
def test_pyiceberg_reads_the_union_or_does_not_read_the_table(
    played: Play, broker: KafkaBroker, shape: str
) -> None:
    table = played(shape)
    options = give_topic(table, broker.bootstrap, HOT)
    published = publish(options)
    try:
        cold = table.catalog.load_table(table.name).scan().to_arrow()
    except Exception:  # noqa: BLE001 - whatever pyiceberg says of deletes that it does not know
        pytest.skip("pyiceberg does not read this table without us")

    found = StaticTable.from_metadata(published.metadata_location).scan().to_arrow()

    ours = run_query(f"SELECT * FROM {table.name}", {table.name: options}).rows
    hot = counted(ours) - counted(table.read())
    added = counted(found) - counted(cold)
    assert found.num_rows == cold.num_rows + HOT
    assert sum(added.values()) == HOT
    assert added == hot


def counted(rows: pa.Table) -> Counter[str]:
    """Rows as texts; pyiceberg reads null lists and maps as empty ones where a schema has changed."""
    return Counter(text.replace("[]", "None") for text in as_sorted(rows))


@pytest.mark.long
@pytest.mark.spark
def test_spark_reads_the_union_of_every_shape(played: Play, broker: KafkaBroker, tmp_path: Path) -> None:
    cases = {}
    for shape in SHAPES:
        table = played(shape)
        options = give_topic(table, broker.bootstrap, HOT)
        ours = run_query(f"SELECT * FROM {table.name}", {table.name: options}).rows
        cases[shape] = (ours, publish(options).location)

    found = read_natively({shape: location for shape, (_, location) in cases.items()}, tmp_path)

    wrong = {}
    for shape, (ours, _) in cases.items():
        answer = found[shape]
        if as_sorted(as_typed(answer.rows, ours.schema)) != as_sorted(as_typed(ours, ours.schema)):
            wrong[shape] = (as_sorted(answer.rows)[:3], as_sorted(ours)[:3])
        if shape == MISCOUNTED:
            continue
        assert answer.counted == ours.num_rows, shape
        for column, (low, high) in answer.extremes.items():
            values = ours.column(column).drop_null()
            assert (low, high) == extremes(values), (shape, column)
    assert wrong == {}


def extremes(values: pa.ChunkedArray) -> tuple[str | None, str | None]:
    there = values.to_pylist()
    return (str(min(there)), str(max(there))) if there else (None, None)


def test_a_cut_with_rows_that_are_none_is_refused(played: Play, broker: KafkaBroker) -> None:
    options = give_topic(played(next(iter(SHAPES))), broker.bootstrap, HOT)

    with pytest.raises(FederationError, match="badRecords=null"):
        publish({**options, "badRecords": "null"})


def test_a_token_of_the_cut_is_in_the_summary(played: Play, broker: KafkaBroker) -> None:
    table = played(next(iter(SHAPES)))
    options = give_topic(table, broker.bootstrap, HOT)
    found = publish(options)
    told = json.loads(Path(found.metadata_location.removeprefix("file://")).read_text(encoding="utf-8"))

    again = publish({**options, "cut": found.cut})

    assert told["snapshots"][-1]["summary"]["kafkaiceberg.cut"] == found.cut == again.cut
    assert again.snapshot_id != found.snapshot_id
