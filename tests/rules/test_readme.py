"""Every block of the README is run, in order, as a new user would type it.

A README that is not run is soon untrue. Addresses are the only thing replaced: the README's ports
by free ones, and its files by files in a temporary folder.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from stack import KafkaBroker, ManagedProcess
from stack.ports import free_port
from stack.spark_writer import JARS
from tests.builders import Lake, make_table, make_topic

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LANGUAGES = {"sh", "python", "toml"}

ORDERS = pa.schema([("order_id", pa.int64()), ("region", pa.string()), ("amount", pa.float64())])


def blocks() -> list[tuple[str, str]]:
    return [(m.group(1), m.group(2)) for m in BLOCK.finditer((ROOT / "README.md").read_text("utf-8"))]


class Reader:
    """Does what the README says, in a folder of its own."""

    def __init__(self, folder: Path, broker: KafkaBroker) -> None:
        self.folder = folder
        self.port = free_port()
        self._replaced = {
            "127.0.0.1:9092": broker.bootstrap,
            "127.0.0.1:8765": f"127.0.0.1:{self.port}",
            "sqlite:///catalog.db": f"sqlite:///{folder}/catalog.db",
            "file:///tmp/warehouse": folder.as_uri(),
        }
        command = folder / "kafkaiceberg"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m kafkaiceberg "$@"\n')
        command.chmod(0o755)
        self.env = {
            **os.environ,
            "PATH": f"{folder}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_CONF_DIR": str(folder),
        }
        # In place of `spark.jars.packages`, which would be fetched anew.
        jars = ",".join(str(path) for path in sorted(JARS.glob("iceberg-spark-runtime-*.jar")))
        (folder / "spark-defaults.conf").write_text(f"spark.jars {jars}\n", "utf-8")
        self._gateway: ManagedProcess | None = None

    def do(self, language: str, text: str) -> None:
        for written, actual in self._replaced.items():
            text = text.replace(written, actual)
        if language == "toml":
            settings = f"{text}\n[gateway]\nport = {self.port}\n"
            (self.folder / "kafkaiceberg.toml").write_text(settings, "utf-8")
        elif language == "python":
            self._run([sys.executable, "-c", text])
        elif text.startswith("make "):
            targets = [line.split()[1] for line in text.splitlines()]
            self._run(["make", "-n", "-C", str(ROOT), *targets])
        else:
            self._serve_if_asked(text)
            self._run(["bash", "-e", "-c", text.replace("curl ", "curl --fail ")])

    def _serve_if_asked(self, text: str) -> None:
        if str(self.port) in text and self._gateway is None:
            argv = [sys.executable, "-m", "kafkaiceberg", "serve"]
            self._gateway = ManagedProcess.start(argv, self.folder / "serve.log", self.env, cwd=self.folder)
            self._gateway.wait_for("serving at", 60)

    def _run(self, argv: list[str]) -> None:
        done = subprocess.run(
            argv, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, f"{argv[-1]}\n{done.stdout}\n{done.stderr}"

    def close(self) -> None:
        if self._gateway is not None:
            self._gateway.stop()


@pytest.fixture
def reader(broker: KafkaBroker, tmp_path: Path) -> Iterator[Reader]:
    made = Lake(broker.bootstrap, tmp_path, "lake.orders", "orders")
    make_table(made.catalog, made.table, ORDERS)
    make_topic(broker.bootstrap, made.topic, partitions=4)
    found = Reader(tmp_path, broker)
    yield found
    found.close()


def test_every_block_says_what_it_is() -> None:
    languages = {language for language, _ in blocks()}

    assert languages == LANGUAGES


@pytest.mark.kafka
@pytest.mark.spark
def test_every_block_of_the_readme_runs_in_order(reader: Reader) -> None:
    for language, text in blocks():
        reader.do(language, text)
