"""The end of a day is no time that an answer can hold, in JSON or in Arrow; it is an error with a way out."""

from __future__ import annotations

import pytest

from sql_gateway.protocol import ARROW_STREAM
from tests.sql_gateway.door import assert_error, open_door, query


@pytest.mark.parametrize("accept", ["application/json", ARROW_STREAM])
@pytest.mark.parametrize(
    "expression",
    [
        "time '24:00:00'",
        "time_ns '24:00:00'",
        "[time '01:00:00', time '24:00:00']",
        "[{'t': time '24:00:00'}]",
        "map {time '24:00:00': 1}",
        "map {1: [time '24:00:00']}",
        "array_value(time '24:00:00', null)",
    ],
)
def test_the_end_of_a_day_is_an_error_with_a_way_out(expression: str, accept: str) -> None:
    answer = open_door().post(
        "/v1/sql", json={"sql": f"select {expression} as v"}, headers={"Accept": accept}
    )

    assert_error(answer, 400, "SQL_INVALID", says="'v'.*24:00:00.*VARCHAR")


def test_the_end_of_a_day_may_be_used_and_shown_as_text() -> None:
    body = query(
        open_door(),
        "select time '24:00:00'::varchar, time '24:00:00' > time '23:59:59', time '23:59:59.999999'",
    )

    assert body["rows"] == [["24:00:00", True, "23:59:59.999999"]]
