"""DuckDB's own Iceberg reader over the gateway's REST catalog: the cut of each statement, never one before.

The reader is of another version than the DuckDB that is embedded here, so it has an environment of its own.
It reads some tables wrong without us, so what is compared is what the union adds to the frozen half.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from sql_gateway.embedded import serve_catalog
from stack import KafkaBroker
from stack.java import ROOT
from tests.builders import Lake, commit_until, delete_topic
from tests.federation.ephemeral.hot_rows import give_topic
from tests.federation.ephemeral.recorded_shapes import play
from tests.sql_gateway.iceberg.events import send

pytestmark = [pytest.mark.kafka, pytest.mark.long]

VERSION: Final = "1.5.5"
PACKAGES: Final = ("duckdb", *(f"duckdb-extension-{name}" for name in ("avro", "httpfs", "iceberg")))
HOT: Final = 12
SHAPES: Final = (
    "types are widened",
    "fields of structs, lists and maps change",
    "the spec changes and changes back",
    "rows are deleted by position, in partitions",
    "deletion vectors grow, over older deletes",
    "keys are deleted, and written again",
)


class Reader:
    """A program in which somebody asks DuckDB."""

    def __init__(self, python: Path, tables: Mapping[str, Mapping[str, str]]) -> None:
        served = serve_catalog(tables)
        program = ROOT / "tests" / "sql_gateway" / "iceberg" / "duckdb_reader.py"
        self._program = subprocess.Popen(
            [python, program, served.uri, served.token],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._answer() == "ready\n"

    def ask(self, statement: str) -> dict[str, Any]:
        assert self._program.stdin is not None
        self._program.stdin.write(json.dumps(statement) + "\n")
        self._program.stdin.flush()
        told: dict[str, Any] = json.loads(self._answer())
        return told

    def rows(self, statement: str) -> list[tuple[str, ...]]:
        told = self.ask(statement)
        assert "rows" in told, told
        return [tuple(row) for row in told["rows"]]

    def seqs(self, table: str) -> list[int]:
        return sorted(int(row[0]) for row in self.rows(f"SELECT seq FROM gateway.{table}"))

    def _answer(self) -> str:
        assert self._program.stdout is not None
        return self._program.stdout.readline()

    def close(self) -> None:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.close()
        self._program.wait(60)
        self._program.stdout.close()


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has DuckDB's Iceberg reader."""
    home = tmp_path_factory.mktemp("duckdb") / "environment"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    found = home / "bin" / "python"
    wanted = [f"{name}=={VERSION}" for name in PACKAGES]
    subprocess.run([found, "-m", "pip", "install", "--quiet", "--only-binary=:all:", *wanted], check=True)
    return found


@pytest.fixture
def reader(python: Path, made: Lake) -> Iterator[Reader]:
    found = Reader(python, {made.table: made.merged()})
    yield found
    found.close()


def test_each_statement_is_fresh(reader: Reader, made: Lake) -> None:
    _, _, name = made.table.partition(".")
    assert reader.seqs(made.table) == list(range(6))
    assert reader.seqs(f"lake_hot.{name}") == [4, 5]
    assert reader.seqs(f"lake_cold.{name}") == list(range(4))

    for end in range(7, 12):
        send(made, end - 1, end)
        assert reader.seqs(made.table) == list(range(end))
        if end % 2:
            # A commit, too, is younger than what came before, and older than the next statement.
            commit_until(made)
            assert reader.seqs(made.table) == list(range(end))
            assert reader.seqs(f"lake_hot.{name}") == []


def test_a_transaction_that_began_before_a_commit_reads_all_the_same(reader: Reader, made: Lake) -> None:
    reader.rows("BEGIN")
    reader.rows("SELECT 1")
    send(made, 6, 8)
    commit_until(made)
    send(made, 8, 9)

    first = reader.seqs(made.table)
    send(made, 9, 10)

    assert first == list(range(9))
    assert reader.seqs(made.table) == first
    reader.rows("COMMIT")
    assert reader.seqs(made.table) == list(range(10))


def test_hot_rows_are_added_to_tables_of_many_shapes(
    python: Path, broker: KafkaBroker, tmp_path: Path
) -> None:
    tables = {}
    for shape in SHAPES:
        table = play(shape, tmp_path)
        tables[shape] = (table.name, give_topic(table, broker.bootstrap, HOT))
    reader = Reader(python, dict(tables.values()))

    for shape, (name, _) in tables.items():
        namespace, _, table_name = name.partition(".")
        parts = {
            half: Counter(reader.rows(f"SELECT * FROM gateway.{namespace}{half}.{table_name}"))
            for half in ("", "_hot", "_cold")
        }
        assert parts[""] == parts["_hot"] + parts["_cold"], shape
        assert parts["_hot"].total() == HOT, shape
        [(counted,)] = reader.rows(f"SELECT count(*) FROM gateway.{name}")
        assert int(counted) == parts[""].total(), shape
    reader.close()


def test_a_user_reads_what_is_wrong_with_a_table(reader: Reader, made: Lake) -> None:
    delete_topic(made.bootstrap, made.topic)

    told = reader.ask(f"SELECT count(*) FROM gateway.{made.table}")

    assert "TOPIC_NOT_FOUND" in told["error"]
