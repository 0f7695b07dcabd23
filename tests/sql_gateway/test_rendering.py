"""Values over the wire: what JSON has no form for is a string, and nothing is lost.

The engine makes the values, so each type is rendered as a client would get it.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from tests.sql_gateway.door import assert_error, open_door, query


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("null", None),
        ("true", True),
        ("9007199254740993::bigint", 9007199254740993),
        ("1.5::double", 1.5),
        ("'nan'::double", "NaN"),
        ("'infinity'::double", "Infinity"),
        ("'-infinity'::double", "-Infinity"),
        ("'nan'::float", "NaN"),
        ("12.50::decimal(10,2)", "12.50"),
        ("170141183460469231731687303715884105727::hugeint", "170141183460469231731687303715884105727"),
        ("'é \"x\"\n'::varchar", 'é "x"\n'),
        ("'\\x00\\xFF'::blob", "AP8="),
        ("date '2026-01-02'", "2026-01-02"),
        ("time '03:04:05.000006'", "03:04:05.000006"),
        ("timestamp '2026-01-02 03:04:05.000006'", "2026-01-02T03:04:05.000006"),
        ("timestamptz '2026-01-02 03:04:05+02'", "2026-01-02T01:04:05+00:00"),
        ("[1, null, 3]", [1, None, 3]),
        ("{'a': 1, 'b': {'c': 'nan'::double}}", {"a": 1, "b": {"c": "NaN"}}),
        ("[{'t': date '2026-01-02'}]", [{"t": "2026-01-02"}]),
        ("map {'k': 1.50}", [["k", "1.50"]]),
        ("uuid '6e9a1b2c-0000-0000-0000-000000000001'", "6e9a1b2c-0000-0000-0000-000000000001"),
        ("'{\"a\": 1}'::json", '{"a": 1}'),
        ("'x'::enum('x', 'y')", "x"),
    ],
)
def test_values_have_one_form_in_json(expression: str, value: Any) -> None:
    body = query(open_door(), f"select {expression} as v")

    assert body["rows"] == [[value]]


@pytest.mark.parametrize(
    "expression",
    [
        "timestamp_ns '2026-01-02 03:04:05.000000006'",
        "'infinity'::timestamp",
        "'infinity'::date",
        "'-infinity'::timestamptz",
        "timestamp '12026-01-02 03:04:05'",
        "[date '0044-03-15 (BC)']",
    ],
)
def test_a_time_that_json_would_change_is_an_error_with_a_way_out(expression: str) -> None:
    answer = open_door().post("/v1/sql", json={"sql": f"select {expression} as v"})

    assert_error(answer, 400, "SQL_INVALID", says="'v'.*VARCHAR")
    assert query(open_door(), f"select ({expression})::varchar as v")["row_count"] == 1


def test_columns_may_have_the_same_name() -> None:
    body = query(open_door(), "select 1 as n, 2 as n, 'x' as n")

    assert [column["name"] for column in body["columns"]] == ["n", "n", "n"]
    assert body["rows"] == [[1, 2, "x"]]


def test_an_empty_answer_has_columns_and_no_rows() -> None:
    body = query(open_door(), "select 1 as n where false")

    assert (body["rows"], body["row_count"]) == ([], 0)
    assert body["columns"][0]["name"] == "n"


def test_json_is_strict_enough_for_strict_parsers() -> None:
    answer = open_door().get("/v1/sql", query_string={"q": "select 'nan'::double, -'infinity'::float"})

    def refuse(literal: str) -> None:
        raise AssertionError(literal)

    assert json.loads(answer.text, parse_constant=refuse)["rows"] == [["NaN", "-Infinity"]]


def test_arrow_keeps_the_types() -> None:
    sql = "select 12.50::decimal(10,2) as d, timestamp '2026-01-02 03:04:05' as t, 1 as n, 2 as n"

    answer = open_door().get(
        "/v1/sql", query_string={"q": sql}, headers={"Accept": "application/vnd.apache.arrow.stream"}
    )

    schema = pa.ipc.open_stream(answer.data).read_all().schema
    assert schema.names == ["d", "t", "n", "n"]
    assert schema.types == [pa.decimal128(10, 2), pa.timestamp("us"), pa.int32(), pa.int32()]
