"""A plain install does without what extras bring, and what needs one says which and how to get it.

Extras are taken away by barring their modules from import, in a process where they matter at import and in
place where they are asked for later. That a real install is like this is for `test_wheel`.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from coldset.errors import CatalogUnavailableError
from coldset.table.catalog import open_catalog
from foundation.errors import ExtraMissingError
from foundation.extras import EXTRAS, describe_lack, require_extra
from hotset.decode.protobuf import compile_protobuf
from hotset.errors import UnsupportedFormatError
from hotset.registry import RegisteredSchema
from kafkaiceberg.__main__ import main

ROOT = Path(__file__).parents[2]
MISTAKE = 2

# Runs commands in a process that can import nothing of any extra, and prints the code of each.
WITHOUT = """
import json, sys
sys.modules.update(dict.fromkeys(json.loads(sys.argv[1])))
from kafkaiceberg.__main__ import main
print(json.dumps([main(command) for command in json.loads(sys.argv[2])]))
"""
BROUGHT = [*(name for names in EXTRAS.values() for name in names), "werkzeug"]


@pytest.fixture(scope="module")
def project() -> Any:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def take_away(monkeypatch: pytest.MonkeyPatch, extra: str) -> None:
    for name in EXTRAS[extra]:
        monkeypatch.setitem(sys.modules, name, None)


def test_a_plain_install_answers_queries_and_renders_its_pages(tmp_path: Path) -> None:
    commands = [["query", "--json", "select 1 as one"], ["docs", "--into", str(tmp_path)]]

    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, json.dumps(BROUGHT), json.dumps(commands)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    first, *_, codes = ran.stdout.splitlines()
    assert json.loads(first)["rows"] == [[1]]
    assert json.loads(codes) == [0, 0]


@pytest.mark.parametrize(
    ("command", "extra"),
    [(["serve"], "gateway"), (["freeze", "lake.orders"], "spark")],
    ids=["serve", "freeze"],
)
def test_a_command_without_its_extra_says_how_to_get_it(
    command: list[str], extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    take_away(monkeypatch, extra)

    assert main(command) == MISTAKE

    shown = capsys.readouterr()
    assert shown.err.startswith(f"error [EXTRA_MISSING]: kafkaiceberg {command[0]} needs the extra {extra!r}")
    assert f"run pip install 'kafkaiceberg[{extra}]'" in shown.err


def test_a_catalog_in_postgresql_says_how_to_get_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    take_away(monkeypatch, "postgres")

    for uri in ("postgresql://u@127.0.0.1:1/db", "postgresql+psycopg2://u@127.0.0.1:1/db"):
        with pytest.raises(ExtraMissingError, match=re.escape("'kafkaiceberg[postgres]'")):
            open_catalog("missing", {"type": "sql", "uri": uri})


def test_an_address_in_postgresql_need_not_name_the_driver_of_the_extra() -> None:
    """Which driver is meant then depends on the version of SQLAlchemy."""
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        uri = f"postgresql://u@127.0.0.1:{nobody_listens.getsockname()[1]}/db"

        with pytest.raises(CatalogUnavailableError, match="refused"):
            open_catalog("refused", {"type": "sql", "uri": uri})


def test_records_in_protobuf_say_how_to_get_what_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    take_away(monkeypatch, "protobuf")
    schema = RegisteredSchema("PROTOBUF", 'syntax = "proto3"; message M { int64 id = 1; }')

    with pytest.raises(UnsupportedFormatError, match=re.escape("'kafkaiceberg[protobuf]'")):
        compile_protobuf(schema, pa.schema([("id", pa.int64())]))


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_is_installed_is_not_missed(extra: str) -> None:
    require_extra(extra, "this test")

    assert describe_lack(extra) is None


def test_the_extras_are_those_of_the_project(project: Any) -> None:
    declared = project["optional-dependencies"]

    assert set(declared) == {*EXTRAS, "all", "dev"}
    assert declared["all"] == [f"kafkaiceberg[{','.join(sorted(EXTRAS))}]"]


def test_the_lock_has_all_that_is_declared(project: Any) -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([a-z0-9.-]+)==", lock, re.MULTILINE))
    extras: Iterable[list[str]] = project["optional-dependencies"].values()
    wanted = {re.split(r"[\[<>=]", text)[0] for texts in (project["dependencies"], *extras) for text in texts}

    assert wanted - locked == {"kafkaiceberg"}
