"""How far a statement is can be asked while it runs, and nothing of it is left once it has ended.

The statements read real data files; where one has to be caught at work, the opening of its next file waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

import coldset.read.read_files
from coldset.files.file_reader import open_file
from federation.engine.run import attempt, query
from federation.engine.run import progress as watched
from federation.options.config import Config
from sql_gateway.app import create_app
from sql_gateway.settings import parse_settings
from tests.builders import HANG_S, wait_until
from tests.coldset.tables import catalog_properties
from tests.federation.cold_table import Alone
from tests.sql_gateway.door import assert_error

ROWS = 1000


@pytest.fixture
def table(tmp_path: Path) -> Alone:
    """Three files."""
    made = Alone(tmp_path)
    for first in range(0, 3 * ROWS, ROWS):
        made.append(*range(first, first + ROWS))
    return made


@pytest.fixture
def client(table: Alone) -> FlaskClient:
    properties = {f"catalog.{key}": value for key, value in catalog_properties(table.directory).items()}
    options = {"read": "cold", "catalog.name": "cold", **properties}
    return create_app(Config(tables={table.name: options}), parse_settings({})).test_client()


class Asked:
    """A statement that runs in a thread, for somebody who may go away."""

    def __init__(self, client: FlaskClient, sql: str) -> None:
        self.answer: Any = None
        self._is_left = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(client.application.test_client(), sql))
        self._thread.start()

    def _run(self, client: FlaskClient, sql: str) -> None:
        environ = {"waitress.client_disconnected": self._is_left.is_set}
        self.answer = client.post("/v1/sql", json={"sql": sql}, environ_overrides=environ)

    def leave(self) -> None:
        self._is_left.set()
        self.wait()

    def wait(self) -> None:
        self._thread.join()

    def rows(self) -> Any:
        self.wait()
        return self.answer.get_json()["rows"]


class Gate:
    """Files are read one by one, and the one of this number is not opened before the gate is."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._seen = 0
        self._reached, self._opened = threading.Event(), threading.Event()

    def wait_and_open(self, io: Any, path: str, *more: Any) -> Any:
        self._seen += 1
        if self._seen == self._number:
            self._reached.set()
            assert self._opened.wait(HANG_S)
        return open_file(io, path, *more)

    def wait(self) -> None:
        """Wait until a statement waits here."""
        assert self._reached.wait(HANG_S)

    def open(self) -> None:
        self._opened.set()


@pytest.fixture
def gate_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Gate]]:
    made: list[Gate] = []

    def make(number: int) -> Gate:
        made.append(Gate(number))
        monkeypatch.setattr(query, "plan_scan", lambda _taken: None)
        monkeypatch.setattr(coldset.read.read_files, "open_file", made[-1].wait_and_open)
        return made[-1]

    yield make
    for each in made:
        each.open()


def running(client: FlaskClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/v1/queries").get_json()["queries"]
    return found


def test_files_that_are_read_one_by_one_are_counted_as_they_are_done(
    client: FlaskClient, table: Alone, gate_at: Callable[[int], Gate]
) -> None:
    gate = gate_at(2)
    sizes = [
        task.file.file_size_in_bytes for task in table.catalog.load_table(table.name).scan().plan_files()
    ]
    sql = f"SELECT max(id) FROM {table.name}"
    asked = Asked(client, sql)

    gate.wait()
    [found] = running(client)
    again = client.get(f"/v1/queries/{found['query_id']}").get_json()
    gate.open()

    assert asked.rows() == [[3 * ROWS - 1]]
    assert asked.answer.headers["X-Query-Id"] == found["query_id"] == again["query_id"]
    assert set(found) == {"query_id", "sql", "running_ms", "percent", "tables"}
    assert (found["sql"], found["percent"]) == (sql, None)
    assert again["running_ms"] >= found["running_ms"] >= 0
    [progress] = found["tables"]
    assert progress.pop("bytes_done") in sizes
    assert progress == {
        "table": table.name,
        "files_done": 1,
        "files": 3,
        "bytes": sum(sizes),
        "files_scanned": 0,
        "bytes_scanned": 0,
        "rows_hot": 0,
    }
    assert running(client) == []
    assert_error(client.get(f"/v1/queries/{found['query_id']}"), 404, "NOT_FOUND", says="no statement")


def test_the_engine_says_how_far_it_is_where_much_is_scanned(
    client: FlaskClient, table: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = (
        f"SELECT count(*) FROM {table.name} a, {table.name} b, range(1000000000) c"
        " WHERE hash(a.id, b.id) = c.range"
    )
    seen: list[dict[str, Any]] = []

    def look(until: Callable[[dict[str, Any]], bool]) -> set[float | None]:
        """Look at the statement until it is so far, and end it."""
        seen.clear()
        asked = Asked(client, endless)

        def is_so_far() -> bool:
            seen.extend(each for each in running(client) if each["tables"])
            return bool(seen) and until(seen[-1])

        try:
            wait_until(is_so_far, "the statement to be so far")
        finally:
            asked.leave()
        assert_error(asked.answer, 400, "QUERY_CANCELLED")
        return {each["percent"] for each in seen}

    assert look(lambda each: each["tables"][0]["bytes_scanned"] > 0) == {None}
    [progress] = seen[-1]["tables"]
    assert (progress["files_scanned"], progress["files"]) == (3, 0)

    monkeypatch.setattr(watched, "_LONG_BYTES", 0)

    found = look(lambda each: each["percent"] is not None) - {None}
    assert all(0 <= percent <= 100 for percent in found if percent is not None)


def test_a_table_of_which_nothing_is_looked_at_has_no_files_to_read(
    client: FlaskClient, table: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []
    real = attempt.collect_in_turn

    def collect(relation: Any, **limits: int) -> Any:
        seen.extend(each for one in running(client) for each in one["tables"])
        return real(relation, **limits)

    monkeypatch.setattr(attempt, "collect_in_turn", collect)
    Asked(client, f"SELECT count(*) FROM {table.name} WHERE false").wait()

    [progress] = seen
    nothing = ("files", "bytes", "files_done", "bytes_done", "files_scanned", "bytes_scanned")
    assert [progress[each] for each in nothing] == [0] * len(nothing)


def test_a_statement_that_fails_runs_no_more_and_a_long_text_is_cut(
    client: FlaskClient, table: Alone, gate_at: Callable[[int], Gate]
) -> None:
    gate = gate_at(1)
    asked = Asked(client, f"SELECT count(note::INT) FROM {table.name} -- {'long' * 1000}")
    gate.wait()
    [found] = running(client)
    gate.open()

    asked.wait()
    assert_error(asked.answer, 400, "SQL_INVALID")
    assert len(found["sql"]) == 1000
    assert running(client) == []
