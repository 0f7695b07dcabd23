"""Topics of change capture, read as one with the tables that they fill.

What becomes of each change is tested where it is decoded; here is the way through options, cut and plan.
"""

from __future__ import annotations

import json
import pickle
from typing import Any

import pyarrow as pa
import pytest

from federation.cut.take import take_cut
from federation.errors import OptionError
from federation.options.table_definition import define, merge_options
from federation.plan import answer_schema, plan_hot
from hotset.decode.envelope import Envelope
from hotset.decode.formats import RecordFormat
from hotset.decode.rows import RowDecoder
from hotset.errors import DecodeError, UnsupportedFormatError
from tests.builders import Lake, commit_until, send
from tests.conftest import MakeLake
from tests.hotset.changes import debezium, text, with_schema
from tests.hotset.raw import raw_records
from tests.sql_gateway.door import open_door, query

ORDERS = pa.schema([pa.field("id", pa.int64(), nullable=False), ("note", pa.string()), ("op", pa.string())])
TEXTS = [(name, pa.string()) for name in ("op", "source", "target")]
WITH_CDC = pa.schema([("id", pa.int64()), ("_cdc", pa.struct([*TEXTS, ("offset", pa.int64())]))])
CHANGED = {"envelope": "debezium", "operationColumn": "op"}
OLD, NEW = {"id": 1, "note": "old"}, {"id": 1, "note": "new"}


def capture(made: Lake, *records: Any) -> None:
    """Send changes, each with its key, and after each delete a record without a value."""
    key = text({"id": 1})
    sent: list[tuple[bytes | None, bytes | None, list[tuple[str, bytes]]]] = []
    for record in records:
        sent.append((key, text(record), []))
        if record.get("op") == "d":
            sent.append((key, None, []))
    send(made.bootstrap, made.topic, sent)


@pytest.mark.kafka
def test_changes_are_rows_of_library_and_gateway_and_what_follows_a_delete_is_counted(lake: MakeLake) -> None:
    made = lake(schema=ORDERS, partitions=1).having(**CHANGED)
    capture(made, debezium("r", None, OLD), debezium("d", OLD))
    commit_until(made)
    capture(made, with_schema(debezium("c", None, OLD)), debezium("u", OLD, NEW), debezium("d", NEW))

    body = query(open_door(made), f"select op, note from {made.table} order by op, note")
    scanned = made.open().scan().to_arrow().select(["op", "note"]).to_pylist()

    expected = [["c", "old"], ["d", "new"], ["d", "old"], ["r", "old"], ["u", "new"]]
    assert body["rows"] == expected
    assert sorted([row["op"], row["note"]] for row in scanned) == expected
    assert made.sql(f"select count(*) n from {made.table}").rows.to_pylist() == [{"n": 5}]
    [table] = body["receipt"]["tables"]
    assert table["rows_skipped"] == 1


@pytest.mark.kafka
def test_a_table_with_the_column_of_the_sinks_transform_gets_it_for_hot_rows(lake: MakeLake) -> None:
    made = lake(schema=WITH_CDC, partitions=1).having(envelope="debezium")
    capture(made, debezium("c", None, OLD))
    commit_until(made)
    capture(made, debezium("d", OLD))

    sql = f"select _cdc.op, _cdc.offset, _cdc.source, _cdc.target from {made.table} order by 2"
    rows = query(open_door(made), sql)["rows"]

    assert rows == [["I", 0, "public.orders", "public.orders"], ["D", 1, "public.orders", "public.orders"]]


@pytest.mark.kafka
def test_what_is_no_change_names_its_record_or_is_left_out(lake: MakeLake) -> None:
    made = lake(schema=ORDERS, partitions=1).having(**CHANGED)
    capture(made, debezium("c", None, OLD), debezium("t"), debezium("u", OLD, NEW))

    with pytest.raises(DecodeError, match=r"offset 1 .*truncation of the whole table"):
        made.sql(f"select id from {made.table}")
    left = made.having(badRecords="skip").sql(f"select op from {made.table} order by op").rows.to_pylist()

    assert left == [{"op": "c"}, {"op": "u"}]


@pytest.mark.kafka
def test_a_table_without_a_column_for_what_was_done_is_refused(lake: MakeLake) -> None:
    made = lake(schema=ORDERS, partitions=1).having(envelope="debezium")
    capture(made, debezium("c", None, OLD))

    with pytest.raises(UnsupportedFormatError, match="'operationColumn'"):
        made.sql(f"select id from {made.table}")


@pytest.mark.kafka
def test_a_split_takes_its_envelope_along(lake: MakeLake) -> None:
    made = lake(schema=ORDERS, partitions=1).having(**CHANGED)
    capture(made, debezium("c", None, OLD))
    taken = take_cut(made.merged())

    [split] = plan_hot(taken, answer_schema(taken), spread=False)

    assert pickle.loads(pickle.dumps(split)).record_format.envelope == Envelope("debezium", "op")


BASE = {"subscribe": "t", "kafka.bootstrap.servers": "h:1"}


@pytest.mark.parametrize("name", ["operationColumn", "cdc.target.pattern"])
def test_options_of_an_envelope_need_one(name: str) -> None:
    with pytest.raises(OptionError, match=f"'{name}' needs option 'envelope'"):
        define(merge_options("a.b", {**BASE, name: "op"}, {}), {})


@pytest.mark.parametrize(
    ("given", "skips"), [({}, False), (CHANGED, True), ({**CHANGED, "tombstones": "fail"}, False)]
)
def test_what_follows_a_delete_is_dropped_unless_the_user_says_otherwise(
    given: dict[str, str], skips: bool
) -> None:
    defined = define(merge_options("a.b", {**BASE, **given}, {}), {})

    assert defined.record_format.skips_tombstones is skips


@pytest.mark.parametrize("named", ["canal", "Canal", "canal-json"])
def test_an_envelope_of_several_rows_is_refused_with_what_to_do(named: str) -> None:
    with pytest.raises(OptionError, match=r"one of none, debezium, maxwell.*record for each row"):
        merge_options("a.b", {**BASE, "envelope": named}, {})


@pytest.mark.parametrize("envelope", ["debezium", "maxwell"])
def test_a_record_of_several_rows_is_no_row_of_another_envelope(envelope: str) -> None:
    record = {
        "data": [{"id": 1}, {"id": 2}],
        "old": None,
        "type": "INSERT",
        "isDdl": False,
        "pkNames": ["id"],
    }
    schema = pa.schema([("id", pa.int64()), ("op", pa.string())])
    decoder = RowDecoder(RecordFormat("json", envelope=Envelope(envelope, "op")), schema, {}, "t")

    with pytest.raises(DecodeError, match="offset 100"):
        decoder.decode(raw_records([json.dumps(record).encode()]))


def test_the_format_of_keys_alone_needs_an_envelope() -> None:
    with pytest.raises(OptionError, match="go together"):
        define(merge_options("a.b", {**BASE, "keyFormat": "json"}, {}), {})
    with pytest.raises(OptionError, match="go together"):
        define(merge_options("a.b", {**BASE, **CHANGED, "keyFields": "id"}, {}), {})

    assert (
        define(merge_options("a.b", {**BASE, **CHANGED, "keyFormat": "json"}, {}), {}).record_format.key
        == "json"
    )
