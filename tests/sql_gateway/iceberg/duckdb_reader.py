"""DuckDB with its own Iceberg reader, which answers statements in JSON, one a line.

    PYTHON tests/sql_gateway/iceberg/duckdb_reader.py URI TOKEN

It runs in an environment that has that reader, so it must import nothing but DuckDB and the packages of its
extensions.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import duckdb

EXTENSIONS = ("avro", "httpfs", "iceberg")


def main(uri: str, token: str) -> None:
    reader = duckdb.connect()
    for name in EXTENSIONS:
        package = importlib.import_module(f"duckdb_extension_{name}").__file__
        assert package is not None
        [extension] = Path(package).parent.rglob("*.duckdb_extension")
        reader.execute(f"LOAD '{extension}'")
    settings = f"ENDPOINT '{uri}', TOKEN '{token}', ACCESS_DELEGATION_MODE 'none'"
    reader.execute(f"ATTACH '' AS gateway (TYPE iceberg, {settings})")
    reader.execute("SET TimeZone = 'UTC'")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        try:
            told = {"rows": [list(map(str, row)) for row in reader.execute(json.loads(line)).fetchall()]}
        except duckdb.Error as exc:
            told = {"error": str(exc)}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
