"""The view that a statement sees of a table: types and names are the table's, wherever its rows are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hotset.decode.bad_records import MARKS
from tests.builders import Lake, produce
from tests.conftest import MakeLake
from tests.federation.cold_table import Alone

ALIKE = pa.schema([("a", pa.int64()), ("A", pa.int64()), ("note", pa.string())])


def test_a_column_that_no_file_has_is_of_its_own_type(tmp_path: Path) -> None:
    table = Alone(tmp_path)
    table.append(1, 2)
    marks = [mark.name for mark in MARKS]

    found = table.ask(f"SELECT {', '.join(marks)} FROM {{t}}", badRecords="null").rows

    assert (found.schema.types, found.num_rows) == ([mark.type for mark in MARKS], 2)
    assert table.ask(f"SELECT {marks[0]} + 1 AS n FROM {{t}}", badRecords="null").rows["n"].null_count == 2


def rows(lake: Lake, sql: str, **options: str) -> list[dict[str, Any]]:
    return lake.sql(sql.format(t=lake.table), **options).rows.to_pylist()


@pytest.mark.kafka
@pytest.mark.parametrize("tail_rows", [1, 1000])
@pytest.mark.parametrize("sql", ["select * from {t}", 'select "A_1", note from {t}', "select a from {t}"])
def test_names_that_differ_in_case_only_are_columns_of_their_own(
    lake: MakeLake, monkeypatch: pytest.MonkeyPatch, sql: str, tail_rows: int
) -> None:
    monkeypatch.setattr("hotset.store.resident_log._TAIL_ROWS", tail_rows)
    made = lake(schema=ALIKE).having(hotStore="on_demand")
    produce(made.bootstrap, made.topic, [{"a": n, "A": 10 * n, "note": "x"} for n in range(3)])
    told = rows(made, sql, hotStore="off")

    assert rows(made, sql) == told
    assert rows(made, sql) == told
