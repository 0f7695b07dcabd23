"""Fields of hot records that the table has no column for: told by doctor, receipts and freezes.

Nothing is wrong with such records, and nothing else says that their values are lost.
"""

from __future__ import annotations

import pyarrow as pa
import pytest

from federation.doctor.examination import examine
from federation.doctor.findings import Severity
from kafkaiceberg.__main__ import main
from tests.builders import Lake, commit_until, produce, write_config
from tests.conftest import MakeLake
from tests.doctor.ward import codes, found

pytestmark = pytest.mark.kafka

INSIDE = pa.struct([("a", pa.int64())])
ROWS = pa.schema([("seq", pa.int64()), ("inside", INSIDE), ("many", pa.list_(pa.field("element", INSIDE)))])
RECORDS = [
    {"seq": 1, "inside": {"a": 1, "b": 2}, "many": [{"a": 1}, {"c": 2}]},
    {"seq": 2, "extra": {"x": [1]}, "é": None},
    {"seq": 3},
]
FIELDS = ["extra", "inside.b", "many.element.c", "é"]


@pytest.fixture
def made(lake: MakeLake) -> Lake:
    fresh = lake(partitions=1, schema=ROWS)
    produce(fresh.bootstrap, fresh.topic, [{"seq": 0}])
    commit_until(fresh)
    produce(fresh.bootstrap, fresh.topic, RECORDS)
    return fresh


def test_doctor_names_the_fields_until_they_have_columns(made: Lake) -> None:
    finding = found(examine(made.merged()), "FIELDS_UNMAPPED")

    assert finding.severity is Severity.WARNING
    assert finding.facts == {"fields": FIELDS, "records": 3, "bad": 0}
    commit_until(made)
    assert "FIELDS_UNMAPPED" not in codes(examine(made.merged()))


@pytest.mark.parametrize("columns", [("seq",), ("seq", "inside", "many")])
@pytest.mark.parametrize("store", ["off", "on_demand"])
def test_a_receipt_names_them_whatever_is_asked_for(
    made: Lake, columns: tuple[str, ...], store: str, way: str
) -> None:
    for _ in range(2):  # from Kafka, and from the store
        scan = made.open(hotStore=store).scan(columns)
        assert scan.to_arrow().num_rows == 4
        assert scan.receipt.to_dict()["unmapped"] == FIELDS
    answer = made.sql(f"SELECT count(*) FROM {made.table}", hotStore=store)
    assert answer.receipts[0].to_dict()["unmapped"] == FIELDS


def test_the_command_line_tells_of_them(made: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    config = write_config(made, made.directory / "kafkaiceberg.toml")

    assert main(["--config", str(config), "query", f"SELECT count(*) FROM {made.table}"]) == 0

    assert "without a column: extra, inside.b, many.element.c, é" in capsys.readouterr().out
