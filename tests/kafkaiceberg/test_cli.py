"""The command line: what it prints, where it prints it, and the code it ends with.

Code 0 is done, 2 the caller's mistake, 3 a service in the way. Answers go to
standard output and nothing else does.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kafkaiceberg.__main__ import main
from tests.builders import Lake, commit_until, produce, write_config
from tests.conftest import MakeLake

ANSWERED, MISTAKE, IN_THE_WAY = 0, 2, 3

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def half(lake: MakeLake) -> Lake:
    made = lake()
    produce(made.bootstrap, made.topic, [{"producer": "p", "seq": n} for n in range(3)])
    commit_until(made)
    produce(made.bootstrap, made.topic, [{"producer": "p", "seq": 3}])
    return made


@pytest.fixture
def config(half: Lake, tmp_path: Path) -> str:
    return str(write_config(half, tmp_path / "kafkaiceberg.toml"))


@pytest.mark.kafka
def test_a_query_prints_rows_and_their_receipt(half: Lake, config: str, capsys: Captured) -> None:
    code = main(["--config", config, "query", f"select seq, txn from {half.table} order by seq"])

    out = capsys.readouterr().out
    assert code == ANSWERED
    assert out.splitlines()[:3] == ["seq  txn", "---  ----", "0    NULL"]
    assert "(4 rows; milliseconds: plan " in out
    assert f"{half.table}: snapshot {half.load().current_snapshot().snapshot_id}, 3 cold + 1 hot rows" in out
    assert "partition 0: committed 3, hot [3, 4)" in out


@pytest.mark.kafka
def test_a_query_prints_json_and_nothing_else(half: Lake, config: str, capsys: Captured) -> None:
    code = main(["--config", config, "query", "--json", f"select count(*) as n from {half.table}"])

    body = json.loads(capsys.readouterr().out)
    assert code == ANSWERED
    assert body["rows"] == [[4]]
    assert body["receipt"]["tables"][0]["rows_hot"] == 1


@pytest.mark.kafka
def test_a_cut_can_be_taken_and_read_again(half: Lake, config: str, capsys: Captured) -> None:
    assert main(["--config", config, "cut", half.table]) == ANSWERED
    token = capsys.readouterr().out.splitlines()[-1]
    assert main(["--config", config, "cut", "--json", half.table]) == ANSWERED
    assert json.loads(capsys.readouterr().out)["cut"] == token
    produce(half.bootstrap, half.topic, [{"producer": "q", "seq": 9}], partition=1)

    sql = f"select count(*) as n from {half.table} where producer = 'p'"
    code = main(["--config", config, "query", "--json", "--cut", f"{half.table}={token}", sql])

    assert code == ANSWERED
    assert json.loads(capsys.readouterr().out)["receipt"]["tables"][0]["cut"] == token


@pytest.mark.kafka
def test_a_cut_explains_how_its_boundary_was_found(half: Lake, config: str, capsys: Captured) -> None:
    assert main(["--config", config, "cut", "--explain", half.table]) == ANSWERED
    told = capsys.readouterr().out
    assert main(["--config", config, "cut", "--explain", "--json", half.table]) == ANSWERED
    looked = json.loads(capsys.readouterr().out)["looked"]

    head = half.load().metadata.current_snapshot_id
    assert looked == [
        f"snapshot {head}, the one that is read: kafkaiceberg.offsets* (kafkaiceberg freeze)",
        f"kafkaiceberg.offsets in the summary of snapshot {head}, 0 back by parents",
    ]
    assert f"looked at: {looked[1]}\nchosen: resolver summary\n" in told


@pytest.mark.kafka
def test_options_may_be_given_with_the_command(half: Lake, capsys: Captured) -> None:
    options = [word for key, value in half.options.items() for word in ("-o", f"{key}={value}")]

    assert main(["cut", half.table, *options]) == ANSWERED
    assert "partition  committed  start  end  offsets  held back" in capsys.readouterr().out


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["query", "selec"], MISTAKE, "error [SQL_INVALID]"),
        (["query", "drop table x"], MISTAKE, "error [STATEMENT_REFUSED]"),
        (["query", "select * from nobody.knows"], MISTAKE, "error [SQL_INVALID]"),
        (["query", "--cut", "nonsense", "select 1"], MISTAKE, "error [OPTION_INVALID]"),
        (["query", "--cut", "lake.x=kic1.zz", "select * from lake.x"], MISTAKE, "error [CUT_TOKEN_INVALID]"),
        (["cut", "lake.none", "-o", "subscripe=x"], MISTAKE, "did you mean subscribe"),
        (["freeze", "lake.none", "--every", "often"], MISTAKE, "length of time"),
    ],
)
def test_a_mistake_is_one_line_on_standard_error(
    config: str, capsys: Captured, arguments: list[str], code: int, says: str
) -> None:
    assert main(["--config", config, *arguments]) == code

    shown = capsys.readouterr()
    assert shown.out == ""
    assert says in shown.err
    assert shown.err.startswith("error [")


def test_a_service_in_the_way_has_its_own_code(tmp_path: Path, capsys: Captured) -> None:
    from tests.builders import make_table

    far = Lake("127.0.0.1:9", tmp_path, "lake.far", "orders", {"planTimeoutMs": "300"})
    make_table(far.catalog, far.table)
    config = write_config(far, tmp_path / "kafkaiceberg.toml")

    assert main(["--config", str(config), "cut", far.table]) == IN_THE_WAY
    assert "error [KAFKA_UNAVAILABLE]" in capsys.readouterr().err


def test_a_missing_configuration_file_is_a_mistake(tmp_path: Path, capsys: Captured) -> None:
    assert main(["--config", str(tmp_path / "none.toml"), "query", "select 1"]) == MISTAKE
    assert "does not exist" in capsys.readouterr().err


def test_a_gateway_without_tables_does_not_start(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "kafkaiceberg.toml").write_text("", encoding="utf-8")

    assert main(["--config", str(tmp_path / "kafkaiceberg.toml"), "serve"]) == MISTAKE
    assert "no tables are configured" in capsys.readouterr().err


def test_reference_pages_are_rendered_where_asked(tmp_path: Path, capsys: Captured) -> None:
    assert main(["docs", "--into", str(tmp_path)]) == ANSWERED

    assert sorted(path.name for path in tmp_path.iterdir()) == ["DOCTOR.md", "ERRORS.md", "OPTIONS.md"]


@pytest.mark.parametrize("command", [[], ["query"], ["cut"], ["doctor"], ["freeze"], ["serve"], ["docs"]])
def test_every_command_explains_itself(command: list[str], capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])

    assert ended.value.code == 0
    assert "usage: kafkaiceberg" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["query"], ["query", "--nonsense", "select 1"]])
def test_malformed_arguments_are_a_mistake(arguments: list[str], capsys: Captured) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    assert ended.value.code == MISTAKE
    assert "usage: " in capsys.readouterr().err


def test_the_module_runs_as_a_program(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "kafkaiceberg", "query", "--json", "select 1 as one"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ran.returncode == ANSWERED, ran.stderr
    assert json.loads(ran.stdout)["rows"] == [[1]]
    assert "Traceback" not in ran.stderr


def test_a_reader_that_leaves_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m kafkaiceberg query 'select * from range(200000)' | head -1"

    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)

    assert ran.stdout.strip() == "range"
    assert "Traceback" not in ran.stderr
