"""What is published can be built, installed into an empty environment, and used there.

The source distribution is built from a copy of the checkout, the wheel from the source distribution, and the
environment has the wheel and what it says it needs, in the locked versions. Nothing of the checkout is on
its path.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

import pyarrow as pa
import pytest

from coldset.table.catalog import open_catalog
from foundation.extras import EXTRAS
from tests.builders import make_table
from tests.rules.sources import PACKAGES

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
SHIPPED = set(PACKAGES) - {"stack"}
NATIVE = (
    "hotset/decode/avro/_interpreter",
    "hotset/decode/json/_json",
    "hotset/decode/protobuf/_wire",
    "hotset/native/_reader",
)
# What is not the source but was made of it.
MADE = (".*", "__pycache__", "*.egg-info", "*.so", "build", "dist")

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="without a C compiler all is done in Python"
)


def run(*argv: object, cwd: Path, codes: Sequence[int] = (0,)) -> subprocess.CompletedProcess[str]:
    """Run a program that sees nothing of this checkout and of its configuration."""
    env = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KAFKAICEBERG"))
    }
    done = subprocess.run(
        list(map(str, argv)), cwd=cwd, env=env, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode in codes, f"{argv}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    source = folder / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(*MADE))
    build = f"from setuptools.build_meta import build_sdist; build_sdist({str(folder)!r})"
    run(sys.executable, "-c", build, cwd=source)
    [sdist] = folder.glob("*.tar.gz")
    pip = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation")
    run(*pip, "--wheel-dir", folder, sdist, cwd=folder)
    [made] = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the programs are of an environment that has the wheel, without extras."""
    folder = tmp_path_factory.mktemp("environment")
    locked = re.findall(r"^[a-z0-9.-]+==\S+", (ROOT / "requirements.lock").read_text("utf-8"), re.MULTILINE)
    (folder / "constraints.txt").write_text("\n".join(locked), encoding="utf-8")
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    bin_folder = folder / "venv" / "bin"
    run(bin_folder / "python", "-m", "pip", "install", "-c", "constraints.txt", wheel, cwd=folder)
    yield bin_folder
    shutil.rmtree(folder)  # hundreds of megabytes, which would be kept for the next runs


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration with one table of three rows, which no topic fills any more."""
    folder = tmp_path_factory.mktemp("lake")
    where = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": folder.as_uri()}
    rows = pa.table({"order_id": [1, 2, 3]})
    make_table(open_catalog("lake", where), "lake.orders", rows.schema).append(rows)
    lines = [f'catalog.{name} = "{value}"' for name, value in {"name": "lake", **where}.items()]
    text = "\n".join(["[defaults]", *lines, 'read = "cold"', '[tables."lake.orders"]', ""])
    (folder / "kafkaiceberg.toml").write_text(text, encoding="utf-8")
    return folder


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [each for each in archive.namelist() if each.endswith(".dist-info/METADATA")]
        return BytesParser().parsebytes(archive.read(name))


def files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_has_all_of_our_packages_and_nothing_around_them(wheel: Path) -> None:
    kinds = ("*.py", "*.pyi", "py.typed")
    ours = {
        path.relative_to(ROOT).as_posix()
        for package in SHIPPED
        for kind in kinds
        for path in (ROOT / package).rglob(kind)
    }

    there = files(wheel)

    assert {name for name in there if not name.endswith(".so")} == ours
    assert {name.split("/")[0] for name in there} == SHIPPED


@needs_compiler
def test_the_wheel_has_what_is_written_in_c(wheel: Path) -> None:
    built = {name.split(".")[0] for name in files(wheel) if name.endswith(".so")}

    assert built == set(NATIVE)
    assert not wheel.name.endswith("-any.whl")


def test_the_extras_are_declared_and_bring_what_a_plain_install_does_not(wheel: Path) -> None:
    found = metadata(wheel)
    needed = found.get_all("Requires-Dist", [])
    plain = {re.split(r"[\[<>=; ]", text)[0] for text in needed if "extra ==" not in text}

    assert {"all", *EXTRAS} <= set(found.get_all("Provides-Extra", []))
    assert plain == {"confluent-kafka", "duckdb", "fastavro", "pyarrow", "pyiceberg", "pyroaring"}


def test_a_plain_install_brings_neither_spark_nor_a_web_server(programs: Path, settings: Path) -> None:
    listed = run(programs / "python", "-m", "pip", "list", "--format", "json", cwd=settings).stdout
    names = {each["name"].lower() for each in json.loads(listed)}

    assert "kafkaiceberg" in names
    assert names.isdisjoint({"flask", "grpcio-tools", "protobuf", "psycopg2-binary", "pyspark", "waitress"})


def test_the_installed_package_is_imported_from_where_it_was_installed(
    programs: Path, settings: Path
) -> None:
    found = run(programs / "python", "-c", "import kafkaiceberg as k; print(k.__file__)", cwd=settings).stdout

    assert Path(found.strip()).is_relative_to(programs.parent)


@needs_compiler
def test_the_installed_command_takes_records_natively(programs: Path, settings: Path) -> None:
    said = run(programs / "kafkaiceberg", "--version", cwd=settings).stdout

    assert "records taken natively: librdkafka" in said


def test_the_installed_command_queries_a_table(programs: Path, settings: Path) -> None:
    sql = "SELECT count(*) AS n, max(order_id) AS last FROM lake.orders"

    body = json.loads(run(programs / "kafkaiceberg", "query", "--json", sql, cwd=settings).stdout)

    assert body["rows"] == [[3, 3]]
    assert body["receipt"]["tables"][0]["rows_cold"] == 3


@pytest.mark.parametrize(("command", "extra"), [("serve", "gateway"), ("freeze", "spark")])
def test_an_installed_command_without_its_extra_says_how_to_get_it(
    programs: Path, settings: Path, command: str, extra: str
) -> None:
    table = ["lake.orders"] if command == "freeze" else []

    said = run(programs / "kafkaiceberg", command, *table, cwd=settings, codes=(2,)).stderr

    assert "error [EXTRA_MISSING]" in said
    assert f"pip install 'kafkaiceberg[{extra}]'" in said
