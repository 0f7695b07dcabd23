"""Iceberg's own runtime on Spark, for what only it does to a table: cherry-pick, compaction, its expiry.

It runs as a process of its own, since a process has one Spark; it starts once and takes statements
for any lake, whose catalog it knows by the name `lake`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.builders import Lake

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json, sys
from stack.spark_writer import open_session
first = open_session(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    session = first.newSession()
    session.conf.set("spark.sql.catalog.lake.uri", f"jdbc:sqlite:{asked['catalog']}?busy_timeout=10000")
    for key, value in asked["settings"].items():
        session.conf.set(key, value)
    try:
        rows = [row.asDict() for row in session.sql(asked["statement"]).collect()]
        answer = {"rows": rows}
    except Exception as error:
        answer = {"error": str(error)}
    print("ANSWER " + json.dumps(answer, default=str), flush=True)
"""


class IcebergOnSpark:
    """A Spark process that has Iceberg's runtime; use it as a context manager."""

    def __init__(self, directory: Path) -> None:
        argv = [sys.executable, "-c", SCRIPT, str(directory / "none.db")]
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
        self._errors = (directory / "spark.log").open("w")
        self._process = subprocess.Popen(
            argv,
            cwd=directory,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def __enter__(self) -> IcebergOnSpark:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()

    def sql(
        self, lake: Lake, statement: str, settings: Mapping[str, str] | None = None
    ) -> list[dict[str, Any]]:
        """Run a statement, in which `{table}` is the lake's table, with these Spark settings."""
        asked = {
            "catalog": str(lake.directory / "catalog.db"),
            "statement": statement.format(table=f"lake.{lake.table}"),
            "settings": dict(settings or {}),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("ANSWER "):
                answer = json.loads(line.removeprefix("ANSWER "))
                assert "error" not in answer, answer["error"]
                rows: list[dict[str, Any]] = answer["rows"]
                return rows
        raise AssertionError(f"Spark has ended; see {self._errors.name}")
