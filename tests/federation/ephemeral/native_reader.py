"""Spark's own Iceberg reader, in a program of its own: it has nothing of ours but what it is to read.

    python -m tests.federation.ephemeral.native_reader REQUEST

The request is JSON: a name and a location each; answers are Arrow files beside it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from stack.spark_writer import ROOT, open_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Types whose least and greatest value Spark takes from metadata where it can.
_EXTREME: Final = frozenset({"int", "bigint", "string", "date"})


@dataclass(frozen=True)
class NativeRows:
    """What Spark has read of a table: all rows, their number, and each column's least and greatest value."""

    rows: pa.Table
    counted: int
    extremes: dict[str, tuple[str | None, str | None]]


def read_natively(locations: Mapping[str, str], folder: Path) -> dict[str, NativeRows]:
    """Read tables by their location."""
    request = folder / "request.json"
    request.write_text(json.dumps(dict(locations)), encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    argv = [sys.executable, "-m", "tests.federation.ephemeral.native_reader", str(request)]
    done = subprocess.run(argv, env=env, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found = {}
    for number, name in enumerate(locations):
        with pa.ipc.open_file(folder / f"{number}.arrow") as reader:
            rows = reader.read_all()
        told = json.loads((folder / f"{number}.json").read_text(encoding="utf-8"))
        extremes = {column: (low, high) for column, (low, high) in told["extremes"].items()}
        found[name] = NativeRows(rows, told["counted"], extremes)
    return found


def main(request: Path) -> None:
    session = open_session({"spark.sql.session.timeZone": "UTC"})
    for number, location in enumerate(json.loads(request.read_text(encoding="utf-8")).values()):
        frame = session.read.format("iceberg").load(location)
        rows = frame.toArrow()
        with pa.ipc.new_file(request.with_name(f"{number}.arrow"), rows.schema) as writer:
            writer.write_table(rows)
        told = {"counted": frame.count(), "extremes": _extremes(frame)}
        request.with_name(f"{number}.json").write_text(json.dumps(told), encoding="utf-8")
    session.stop()


def _extremes(frame: DataFrame) -> dict[str, list[str | None]]:
    from pyspark.sql import functions as f

    found = {}
    for name, kind in frame.dtypes:
        if kind in _EXTREME:
            quoted = f.col(f"`{name}`")
            [row] = frame.agg(f.min(quoted), f.max(quoted)).collect()
            found[name] = [None if value is None else _text(value) for value in row]
    return found


def _text(value: Any) -> str:
    return str(value)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
