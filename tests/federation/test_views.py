"""The view that a statement sees of a table: types and names are the table's, wherever its rows are."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hotset.decode.bad_records import MARKS
from tests.builders import produce
from tests.conftest import MakeLake
from tests.federation.test_cold_scan import Alone
from tests.federation.test_resident import rows

ALIKE = pa.schema([("a", pa.int64()), ("A", pa.int64()), ("note", pa.string())])


def test_a_column_that_no_file_has_is_of_its_own_type(tmp_path: Path) -> None:
    table = Alone(tmp_path)
    table.append(1, 2)
    marks = [mark.name for mark in MARKS]

    found = table.ask(f"SELECT {', '.join(marks)} FROM {{t}}", badRecords="null").rows

    assert (found.schema.types, found.num_rows) == ([mark.type for mark in MARKS], 2)
    assert table.ask(f"SELECT {marks[0]} + 1 AS n FROM {{t}}", badRecords="null").rows["n"].null_count == 2


@pytest.mark.kafka
@pytest.mark.parametrize("sql", ["select * from {t}", 'select "A_1", note from {t}', "select a from {t}"])
def test_names_that_differ_in_case_only_are_columns_of_their_own(lake: MakeLake, sql: str) -> None:
    made = lake(schema=ALIKE).having(hotStore="on_demand")
    produce(made.bootstrap, made.topic, [{"a": 1, "A": 10, "note": "x"}])
    told = rows(made, sql, hotStore="off")

    assert rows(made, sql) == told
    assert rows(made, sql) == told
