"""`readerSchema=latest` is one schema for each cut, whatever is registered after it was taken.

Each version of the schema here has another default for a column that records lack, so an answer
tells by which version it was read.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from federation.cut.cut import Cut, ReaderSchema
from federation.errors import CutTokenError
from federation.receipt_lines import render_receipt
from kafkaiceberg.__main__ import main
from stack.registry import SchemaRegistryServer
from tests.builders import Lake, commit_until, produce, write_config
from tests.conftest import MakeLake
from tests.registry.serializers import in_avro, register
from tests.sql_gateway.door import assert_error, open_door, query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.kafka, pytest.mark.registry]

COLUMNS = pa.schema([("id", pa.int64()), ("note", pa.string())])


def version(default: str | None) -> str:
    note = [] if default is None else [{"name": "note", "type": "string", "default": default}]
    fields = [{"name": "id", "type": "long"}, *note]
    return json.dumps({"type": "record", "name": "Order", "namespace": "shop", "fields": fields})


def add_version(orders: Lake, default: str) -> int:
    """Register one more version and return its schema's id."""
    url = orders.extra["schema.registry.url"]
    return register(url, f"{orders.topic}-value", "AVRO", version(default))


@pytest.fixture(params=["off", "on_demand"])
def orders(
    lake: MakeLake,
    registry: SchemaRegistryServer,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Lake:
    """Id 0 is in the table and id 1 is not; neither has a note. With and without a hot store."""
    monkeypatch.setattr("hotset.registry.registry_client._LATEST_S", 0.0)
    made = lake(schema=COLUMNS, partitions=1).having(
        valueFormat="avro",
        readerSchema="latest",
        hotStore=request.param,
        **{"schema.registry.url": registry.url},
    )
    payloads = in_avro(registry.url, made.topic, version(None), [{"id": n} for n in range(2)])
    produce(made.bootstrap, made.topic, payloads[:1])
    commit_until(made)
    produce(made.bootstrap, made.topic, payloads[1:])
    return made


def note(orders: Lake, cut: Cut | None = None) -> str | None:
    """What the hot record's note is, in the library and in SQL."""
    found = {row["id"]: row["note"] for row in orders.open().scan(cut=cut).to_arrow().to_pylist()}
    given = {} if cut is None else {"cut": cut.token()}
    assert orders.sql(f"select id, note from {orders.table} where id = 1", **given).rows.to_pylist() == [
        {"id": 1, "note": found[1]}
    ]
    told: str | None = found[1]
    return told


def test_a_cut_is_read_by_what_was_the_latest_when_it_was_taken(orders: Lake) -> None:
    before = orders.open().cut()
    first = add_version(orders, "first")
    cut = orders.open().cut()
    add_version(orders, "second")

    assert before.reader_schema is not None
    assert before.reader_schema.version == 1
    assert cut.reader_schema == ReaderSchema(2, first)
    assert [note(orders, before), note(orders, cut), note(orders)] == [None, "first", "second"]
    # Again, from what may be kept by now.
    assert [note(orders), note(orders, cut), note(orders, before)] == ["second", "first", None]


def test_a_scan_reads_all_of_its_cut_by_one_schema(orders: Lake) -> None:
    add_version(orders, "first")
    scan = orders.open().scan()
    add_version(orders, "second")

    assert sorted(row["note"] or "" for row in scan.to_arrow().to_pylist()) == ["", "first"]
    assert scan.receipt.reader_schema == scan.cut.reader_schema
    assert f"reader's schema: version 2, id {scan.cut.reader_schema.schema_id}" in render_receipt(
        scan.receipt
    )


def test_the_gateway_takes_up_a_cut_with_its_schema(orders: Lake) -> None:
    client = open_door(orders)
    first = add_version(orders, "first")
    told = client.get(f"/v1/tables/{orders.table}/freshness").get_json()
    add_version(orders, "second")

    assert told["reader_schema"] == {"version": 2, "schema_id": first}
    statement = f"select note from {orders.table} where id = 1"
    assert query(client, statement, **{orders.table: told["cut"]})["rows"] == [["first"]]
    assert query(client, statement)["rows"] == [["second"]]


def test_the_command_line_tells_the_schema_of_a_cut(
    orders: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = add_version(orders, "first")
    config = str(write_config(orders, tmp_path / "kafkaiceberg.toml"))

    assert main(["--config", config, "cut", orders.table]) == 0
    lines = capsys.readouterr().out.splitlines()
    add_version(orders, "second")

    assert f"reader's schema: version 2, id {first}, the latest at the cut" in lines
    statement = f"select note from {orders.table} where id = 1"
    assert main(["--config", config, "query", "--cut", f"{orders.table}={lines[-1]}", statement]) == 0
    assert "first" in capsys.readouterr().out


def test_without_hot_records_no_schema_is_asked_for(orders: Lake) -> None:
    commit_until(orders)
    elsewhere = orders.having(**{"schema.registry.url": "http://127.0.0.1:9"})

    assert elsewhere.open().cut().reader_schema is None
    assert elsewhere.open().scan(cut=elsewhere.open().cut()).to_arrow().num_rows == 2


def test_a_cut_of_before_cuts_told_their_schema_is_refused(orders: Lake) -> None:
    old = replace(orders.open().cut(), reader_schema=None)

    with pytest.raises(CutTokenError, match="does not say which reader's schema was the latest"):
        note(orders, old)
    assert note(orders.having(readerSchema="none"), old) is None


def test_a_cut_of_the_latest_schema_is_not_one_of_another(orders: Lake) -> None:
    with pytest.raises(CutTokenError, match="'readerSchema' is none"):
        note(orders.having(readerSchema="none"), orders.open().cut())


def test_a_schema_that_a_token_claims_is_believed_in_nothing(orders: Lake) -> None:
    first = add_version(orders, "first")
    cut = orders.open().cut()
    client = open_door(orders)

    for forged, code, says in (
        (ReaderSchema(1, first), "CUT_TOKEN_INVALID", "version 1 of subject .* which it is not"),
        (ReaderSchema(2, 1 << 40), "CUT_TOKEN_INVALID", "which it is not"),
        (ReaderSchema(-1, first), "CUT_TOKEN_INVALID", "which it is not"),
        (ReaderSchema(99, first), "SCHEMA_NOT_FOUND", "version 99 of subject"),
    ):
        cuts = {orders.table: replace(cut, reader_schema=forged).token()}
        refused = client.post("/v1/sql", json={"sql": f"select note from {orders.table}", "cuts": cuts})
        assert_error(refused, 400, code, says=says)


@pytest.mark.spark
def test_spark_reads_a_cut_by_its_schema(orders: Lake, spark: SparkSession) -> None:
    add_version(orders, "first")
    cut = orders.open().cut()
    reader = spark.read.format("kafkaiceberg").options(**orders.options)
    now = reader.load(orders.table)
    add_version(orders, "second")

    assert {row.id: row.note for row in now.collect()} == {0: None, 1: "first"}
    assert {row.id: row.note for row in reader.option("cut", cut.token()).load(orders.table).collect()} == {
        0: None,
        1: "first",
    }
