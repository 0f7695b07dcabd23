"""A column that a table is partitioned by has the partition's value, whatever an imported file has there.

What Iceberg's own readers give for such a file is in `tests/coldset/corners.py`.
"""

from __future__ import annotations

import struct
from collections import Counter
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import DoubleType, IntegerType

import federation.engine.run.query as query
from coldset.errors import ColdReadError
from coldset.prune.column_facts import of_partition
from coldset.table.arrow_form import arrow_schema
from coldset.table.catalog import pin
from tests.coldset.tables import read
from tests.federation.cold_table import Alone

LONG = "a text that is longer than a manifest's bounds are"


def partitioned(directory: Path, kind: pa.DataType) -> Alone:
    """A table of columns `id` and `p`, partitioned by `p`."""
    table = Alone(directory, pa.schema([("id", pa.int32()), ("p", kind)]))
    with table.catalog.load_table(table.name).update_spec() as spec:
        spec.add_identity("p")
    return table


def file_under(table: Alone, partition: Any, ids: list[int], values: list[Any], **how: Any) -> None:
    """Make a file part of the table under a partition, as an import does that does not look into it."""
    loaded = table.catalog.load_table(table.name)
    schema = pa.schema(
        pa.field(each.name, each.type, metadata={"PARQUET:field_id": str(place)})
        for place, each in enumerate(arrow_schema(loaded.schema()), 1)
    )
    path = table.directory / f"{ids[0]}.parquet"
    pq.write_table(pa.table([ids, values], schema=schema), path, **how)
    said = {2: to_bytes(IntegerType(), values[0])} if isinstance(values[0], int) else {}
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=path.as_uri(),
        file_format=FileFormat.PARQUET,
        partition=Record(partition),
        record_count=len(ids),
        file_size_in_bytes=path.stat().st_size,
        lower_bounds=said,
        upper_bounds=said,
        null_value_counts={2: 0} if said else {},
    )
    file.spec_id = loaded.spec().spec_id
    with loaded.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(file)


@pytest.fixture(params=[True, False], ids=["the engine's scan", "the reader of files"])
def _any_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(query, "plan_scan", lambda _taken: None)


@pytest.mark.usefixtures("_any_reader")
def test_a_file_that_contradicts_its_partition_is_not_believed(tmp_path: Path) -> None:
    table = partitioned(tmp_path, pa.int32())
    file_under(table, 7, [1, 2], [7, 7])
    file_under(table, 7, [3, 4, 5], [1, 1, 1])
    file_under(table, 7, [6, 7], [None, 7])
    file_under(table, None, [8], [7])

    assert table.ask("SELECT p FROM {t} ORDER BY id").values() == [[7, 7, 7, 7, 7, 7, 7, None]]
    assert table.ask("SELECT id FROM {t} WHERE p = 7 ORDER BY id").values() == [[1, 2, 3, 4, 5, 6, 7]]
    assert table.ask("SELECT id FROM {t} WHERE p IS NULL").values() == [[8]]
    assert table.ask("SELECT id FROM {t} WHERE p = 1").values() == [[]]
    assert table.ask("SELECT count(*) FROM {t} WHERE p > 1 AND id > 4").values() == [[3]]


@pytest.mark.usefixtures("_any_reader")
def test_row_groups_are_not_left_out_by_what_the_file_says_of_its_partition(tmp_path: Path) -> None:
    table = partitioned(tmp_path, pa.int32())
    file_under(table, 7, [1, 2, 3, 4], [7, 1, 1, 7], row_group_size=1)

    assert table.ask("SELECT id FROM {t} WHERE p = 7 AND id < 4 ORDER BY id").values() == [[1, 2, 3]]


@pytest.mark.usefixtures("_any_reader")
def test_a_double_of_the_file_counts_only_where_it_was_filed_as_the_single_next_to_it(
    tmp_path: Path,
) -> None:
    table = partitioned(tmp_path, pa.float64())
    single = -9.899999618530273
    file_under(table, single, [1, 2, 3, 4], [-9.9, 3.25, None, single])
    file_under(table, 0.0, [5, 6], [-0.0, float("nan")])
    file_under(table, None, [7], [3.25])

    assert table.ask("SELECT p FROM {t} ORDER BY id").values() == [
        [-9.9, single, single, single, 0.0, 0.0, None]
    ]
    assert table.ask("SELECT id FROM {t} WHERE p = -9.9").values() == [[1]]
    assert table.ask("SELECT id FROM {t} WHERE p = 3.25").values() == [[]]
    assert table.ask("SELECT count(*) FROM {t} WHERE p < -9.8").values() == [[4]]


def test_columns_that_partitions_tell_are_read_without_their_files(tmp_path: Path) -> None:
    table = partitioned(tmp_path, pa.string())
    file_under(table, "a", list(range(200_000)), ["a"] * 200_000)
    file_under(table, None, [200_000, 200_001], ["b", "c"])
    for path in tmp_path.glob("*.parquet"):
        path.unlink()
    pinned = pin(table.catalog, table.name)

    assert Counter(read(pinned, "p").column("p").to_pylist()) == {"a": 200_000, None: 2}
    answer = table.ask("SELECT min(p), max(p), count(p), count(*) FROM {t} WHERE p IS NOT NULL")
    assert answer.values() == [["a"], ["a"], [200_000], [200_000]]
    with pytest.raises(ColdReadError):
        read(pinned, "id")


DAY = date(1969, 12, 31)
AT = datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)


@pytest.mark.parametrize(
    ("kind", "value", "filed"),
    [
        (pa.int32(), 7, 7),
        (pa.string(), LONG, LONG),
        (pa.bool_(), True, True),
        (pa.date32(), DAY, -1),
        (pa.timestamp("us"), AT.replace(tzinfo=None), -1),
        (pa.timestamp("us", tz="UTC"), AT, -1),
        (pa.time64("us"), time(0, 0, 1), 1_000_000),
        (pa.decimal128(9, 2), Decimal("-1.50"), Decimal("-1.50")),
        (pa.decimal128(38, 2), Decimal("-1.50"), Decimal("-1.50")),
        (pa.binary(), b"\xff\x00", b"\xff\x00"),
        (pa.int64(), None, None),
    ],
    ids=str,
)
def test_the_engine_scans_files_that_are_shown_to_agree(
    tmp_path: Path, kind: pa.DataType, value: Any, filed: Any
) -> None:
    table = partitioned(tmp_path, kind)
    file_under(table, filed, [1, 2, 3], [value] * 3, row_group_size=2)
    assert table.scan().rest == ()
    assert table.ask("SELECT p FROM {t}").values() == [[value] * 3]

    file_under(table, filed, [4, 5], [value] * 2, write_statistics=False)

    assert [file.rows for file in table.scan().rest] == [2]
    assert table.ask("SELECT p FROM {t}").values() == [[value] * 5]


def test_files_are_looked_for_by_the_doubles_that_may_be_filed_as_their_partition() -> None:
    random = Random(7)
    for _ in range(500):
        value = random.uniform(-1, 1) * 10.0 ** random.randint(-50, 38)
        [single] = struct.unpack("<f", struct.pack("<f", value))

        fact = of_partition(IdentityTransform(), DoubleType(), single)

        assert fact.low <= value <= fact.high  # type: ignore[operator]
        assert fact.high - fact.low <= abs(value) * 2.0**-20 + 2.0**-140  # type: ignore[operator]
