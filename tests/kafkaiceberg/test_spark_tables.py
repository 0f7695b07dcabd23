"""Federated tables in Spark, by Spark's own Iceberg reader: fresh, at one cut, and without a line too many.

Spark runs in a program of its own, which has Iceberg's runtime; each question is one the docs show.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafkaiceberg.spark as ki
from federation.errors import OptionError
from federation.options.config import Config
from stack.java import ROOT
from tests.builders import Lake, commit_until, produce, write_config
from tests.conftest import MakeLake

pytestmark = [pytest.mark.kafka, pytest.mark.spark]

PROGRAM = r"""
import json, sys, warnings
import kafkaiceberg.spark as ki
from stack.spark_writer import open_session
spark = open_session()
attached = False
print("ready", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    try:
        if asked["way"] == "table":
            frame = ki.table(spark, asked["name"], **asked.get("options", {}))
            if "where" in asked:
                frame = frame.where(asked["where"])
            rows = sorted(tuple(row) for row in frame.select("seq").collect())
            told = {"rows": rows, "rows_hot": getattr(frame, "receipt", None) and frame.receipt.rows_hot}
        elif asked["way"] == "sql":
            frame = ki.sql(spark, asked["sql"])
            told = {"rows": [tuple(row) for row in frame.collect()], "receipts": sorted(frame.receipts)}
        else:
            if not attached:
                ki.attach(spark)
                attached = True
            told = {"rows": [tuple(row) for row in spark.sql(asked["sql"]).collect()]}
    except Exception as exc:
        told = {"error": type(exc).__name__, "message": str(exc)[:2000]}
    print(json.dumps(told), flush=True)
spark.stop()
"""


class Notebook:
    """A session of Spark with Iceberg's runtime, in which somebody asks."""

    def __init__(self, config: Path, folder: Path) -> None:
        env = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYSPARK_PYTHON": sys.executable,
            "KAFKAICEBERG_CONFIG": str(config),
        }
        self._log = (folder / "spark.log").open("w")
        self._program = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env=env,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        assert self._answer() == "ready\n", (folder / "spark.log").read_text()[-3000:]

    def ask(self, way: str, **asked: Any) -> dict[str, Any]:
        assert self._program.stdin is not None
        self._program.stdin.write(json.dumps({"way": way, **asked}) + "\n")
        self._program.stdin.flush()
        told: dict[str, Any] = json.loads(self._answer())
        return told

    def rows(self, way: str, **asked: Any) -> list[Any]:
        told = self.ask(way, **asked)
        assert "rows" in told, told
        rows: list[Any] = told["rows"]
        return rows

    def _answer(self) -> str:
        assert self._program.stdout is not None
        return self._program.stdout.readline()

    def close(self) -> None:
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.close()
        self._program.wait(120)
        self._program.stdout.close()
        self._log.close()


@pytest.fixture(scope="module")
def made(lake: MakeLake, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Four records that are cold and two that are hot, to which tests add."""
    store = tmp_path_factory.mktemp("hot") / "store"
    found = lake(partitions=1).having(hotStorePath=str(store))
    send(found, 0, 6)
    commit_until(found, {0: 4})
    return found


@pytest.fixture(scope="module")
def notebook(made: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    folder = tmp_path_factory.mktemp("notebook")
    running = Notebook(write_config(made, folder / "kafkaiceberg.toml"), folder)
    yield running
    running.close()


def send(lake: Lake, first: int, end: int) -> None:
    records = [{"producer": "p", "seq": seq, "run": "r"} for seq in range(first, end)]
    produce(lake.bootstrap, lake.topic, records, partition=0)


def count(lake: Lake) -> int:
    found: int = lake.sql(f"SELECT count(*) AS n FROM {lake.table}").rows.column("n")[0].as_py()
    return found


def more(lake: Lake) -> int:
    """Send one record more, and return how many there are."""
    number = count(lake)
    send(lake, number, number + 1)
    return number + 1


def test_a_table_is_fresh_at_each_call(notebook: Notebook, made: Lake) -> None:
    number = more(made)

    found = notebook.ask("table", name=made.table)

    assert found["rows"] == [[seq] for seq in range(number)]
    assert found["rows_hot"] == number - 4


def test_filters_find_both_halves(notebook: Notebook, made: Lake) -> None:
    assert notebook.rows("table", name=made.table, where="seq = 1") == [[1]]
    assert notebook.rows("table", name=made.table, where="seq = 5") == [[5]]
    assert notebook.rows("table", name=made.table, where="seq > 900") == []


def test_columns_are_those_that_are_asked_for(notebook: Notebook, made: Lake) -> None:
    number = count(made)
    asked = notebook.ask("table", name=made.table, options={"columns": ["seq"]})
    assert asked["rows"] == [[seq] for seq in range(number)]

    assert (
        "UNRESOLVED_COLUMN" in notebook.ask("table", name=made.table, options={"columns": ["run"]})["message"]
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM {t}",
        "SELECT count(DISTINCT seq) FROM `lake`.`{n}`",
        "SELECT count(*) FROM kafkaiceberg.{t} AS k WHERE k.producer = 'p'",
        "SELECT count(*) FROM {t} a JOIN {t} b ON a.seq = b.seq -- not {{x}} of {t}",
        "WITH part AS (SELECT * FROM {t}) SELECT count(*) FROM part WHERE seq IN (SELECT seq FROM {t})",
        "SELECT max(seq) + 1 FROM {t} WHERE run <> '{t}' AND run <> '{{0}}'",
        "SELECT count({n}.seq) FROM {t}",
        "SELECT (SELECT count(*) FROM {t}) FROM range(1)",
    ],
)
def test_statements_name_tables_as_people_do(notebook: Notebook, made: Lake, sql: str) -> None:
    number = more(made)
    statement = sql.format(t=made.table, n=made.table.partition(".")[2])

    found = notebook.ask("sql", sql=statement)

    assert found == {"rows": [[number]], "receipts": [made.table]}


@pytest.mark.parametrize(
    ("sql", "error", "says"),
    [
        ("SELECT 1", "SqlError", "names no federated table"),
        ("SELECT FROM WHERE", "SqlError", "cannot be found"),
        ("SELECT nothing FROM {t}", "AnalysisException", "nothing"),
    ],
)
def test_what_is_wrong_is_said(notebook: Notebook, made: Lake, sql: str, error: str, says: str) -> None:
    found = notebook.ask("sql", sql=sql.format(t=made.table))

    assert found["error"] == error
    assert says in found["message"]


def test_plain_sql_is_fresh_at_each_statement(notebook: Notebook, made: Lake) -> None:
    table = f"kafkaiceberg.{made.table}"
    for _ in range(3):
        number = more(made)
        assert notebook.rows("attached", sql=f"SELECT count(*) FROM {table}") == [[number]]
    twice = (
        f"SELECT count(*) FROM {table} a FULL JOIN {table} b ON a.seq = b.seq "
        "WHERE a.seq IS NULL OR b.seq IS NULL"
    )
    assert notebook.rows("attached", sql=twice) == [[0]]
    namespace, _, name = made.table.partition(".")
    assert notebook.rows("attached", sql=f"SELECT count(*) FROM kafkaiceberg.{namespace}_cold.{name}") == [
        [4]
    ]


def test_plain_sql_writes_nothing(notebook: Notebook, made: Lake) -> None:
    table = f"kafkaiceberg.{made.table}"

    found = notebook.ask("attached", sql=f"INSERT INTO {table} SELECT * FROM {table}")

    assert "error" in found
    assert made.load().scan().count() == 4


def test_a_session_without_the_runtime_reads_through_python_and_says_so(spark: Any, made: Lake) -> None:
    number = count(made)
    options = {key: value for key, value in made.options.items() if key != "path"}

    with pytest.warns(UserWarning, match=r"spark\.jars\.packages=org\.apache\.iceberg:iceberg-spark-runtime"):
        frame = ki.table(spark, made.table, config=Config(), **options)

    assert sorted(row.seq for row in frame.collect()) == list(range(number))


def test_a_session_without_the_runtime_is_told_before_it_asks(spark: Any, made: Lake) -> None:
    with pytest.raises(OptionError, match=r"spark\.jars\.packages"):
        ki.attach(spark, config=Config(tables={made.table: made.options}))
