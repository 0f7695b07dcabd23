"""`kafkaiceberg doctor` as a program: what it prints, and the code it ends with.

0 is nothing to worry about, 10 warnings, 11 errors; without a report the codes are those of all commands.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import Lake, write_config
from tests.conftest import MakeLake
from tests.doctor.ward import COLUMNS, ROWS, mark, put, send

pytestmark = pytest.mark.kafka

FINE, WARNINGS, ERRORS, MISTAKE = 0, 10, 11, 2


@pytest.fixture
def half(lake: MakeLake) -> Lake:
    """A table in order, with two hot records."""
    made = lake(schema=ROWS, partitions=1).having(kafkaColumns=COLUMNS)
    send(made, 4)
    put(made, range(2), **mark(made, {0: 2}))
    return made


def doctor(lake: Lake, directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    config = write_config(lake, directory / "kafkaiceberg.toml")
    command = [sys.executable, "-m", "kafkaiceberg", "--config", str(config), "doctor", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_table_in_order_ends_with_0(half: Lake, tmp_path: Path) -> None:
    ran = doctor(half, tmp_path, half.table)

    assert ran.returncode == FINE, ran.stderr
    first, *rest = ran.stdout.splitlines()
    assert first.startswith(f"{half.table}: snapshot ")
    assert rest[0].startswith("info     WRITER: resolver summary answers from the summary of snapshot ")
    assert rest[-1].startswith("fine     DUPLICATE_FILES, DUPLICATE_RECORDS, ")


def test_warnings_end_with_10(half: Lake, tmp_path: Path) -> None:
    ran = doctor(half, tmp_path, half.table, "--warn-within", "9999h")

    assert ran.returncode == WARNINGS, ran.stderr
    assert "warning  RETENTION_NEAR: " in ran.stdout
    assert "See DOCTOR.md#retention_near" in " ".join(ran.stdout.split())


def test_errors_end_with_11(half: Lake, tmp_path: Path) -> None:
    put(half, [1])

    ran = doctor(half, tmp_path, half.table)

    assert ran.returncode == ERRORS, ran.stderr
    assert ran.stdout.splitlines()[1].startswith("error    DUPLICATE_RECORDS: 1 rows repeat a record")


def test_json_has_all_of_it_and_the_same_code(half: Lake, tmp_path: Path) -> None:
    put(half, [1])

    ran = doctor(half, tmp_path, half.table, "--json")

    document = json.loads(ran.stdout)
    assert ran.returncode == ERRORS
    assert set(document) == {
        "table",
        "snapshot_id",
        "topic",
        "examined_at_ms",
        "worst",
        "findings",
        "unchecked",
        "silent",
    }
    assert (document["worst"], document["findings"][0]["code"]) == ("error", "DUPLICATE_RECORDS")
    assert document["findings"][0]["facts"]["examples"] == [[0, 1, 2]]


def test_kafka_in_the_way_leaves_a_report_that_says_so(half: Lake, tmp_path: Path) -> None:
    far = half.having(**{"kafka.bootstrap.servers": "127.0.0.1:9", "planTimeoutMs": "300"})

    ran = doctor(far, tmp_path, half.table)

    assert ran.returncode == WARNINGS, ran.stderr
    assert "failed   not checked: " in ran.stdout
    assert "no answer within 300 ms" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["lake.nobody"], "error [TABLE_NOT_FOUND]"),
        (["lake.nobody", "--look-back", "none"], "--look-back wants a whole number"),
        (["lake.nobody", "--warn-within", "soon"], "length of time"),
        (["lake.nobody", "-o", "cut=kic1.x"], "takes no cut"),
    ],
)
def test_a_mistake_ends_with_2_and_without_a_report(
    half: Lake, tmp_path: Path, arguments: list[str], says: str
) -> None:
    named = [word for key, value in half.options.items() for word in ("-o", f"{key}={value}")]

    ran = doctor(half, tmp_path, *arguments, *named)

    assert (ran.returncode, ran.stdout) == (MISTAKE, "")
    assert says in ran.stderr
