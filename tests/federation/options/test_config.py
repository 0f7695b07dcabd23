"""The configuration file: where it is found, the forms it may have, and its mistakes.

Whatever TOML makes of a dotted key, an option has one name.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from federation.errors import OptionError
from federation.options.config import CONFIG_VARIABLE, Config, load_config
from federation.table import open_table


def write(folder: Path, text: str, name: str = "kafkaiceberg.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        '[defaults]\nkafka.bootstrap.servers = "b:1"\n[tables."lake.orders"]\nsubscribe = "orders"',
        '[defaults.kafka.bootstrap]\nservers = "b:1"\n[tables."lake.orders"]\nsubscribe = "orders"',
        '[defaults]\n"kafka.bootstrap.servers" = "b:1"\n[tables]\n"lake.orders" = {subscribe = "orders"}',
        '[defaults]\nkafka = {bootstrap = {servers = "b:1"}}\n[tables."lake.orders"]\n"subscribe" = "orders"',
    ],
)
def test_all_ways_to_write_a_dotted_key_mean_the_same(tmp_path: Path, text: str) -> None:
    config = load_config(write(tmp_path, text))

    assert config.options_of("lake.orders") == {"kafka.bootstrap.servers": "b:1", "subscribe": "orders"}


def test_values_become_text_as_options_are_written(tmp_path: Path) -> None:
    text = '[tables.t]\nfailOnDataLoss = false\nmaxHotRecords = 5\ncolumns = ["a", "b"]\n[gateway]\nport = 1'

    config = load_config(write(tmp_path, text))

    assert config.tables["t"] == {"failOnDataLoss": "false", "maxHotRecords": "5", "columns": "a,b"}
    assert config.gateway == {"port": "1"}


def test_a_tables_own_option_wins_over_the_defaults(tmp_path: Path) -> None:
    text = '[defaults]\nsubscribe = "all"\nread = "cold"\n[tables."lake.orders"]\nsubscribe = "orders"'

    config = load_config(write(tmp_path, text))

    assert config.options_of("lake.orders") == {"subscribe": "orders", "read": "cold"}
    assert config.options_of("lake.other") == {"subscribe": "all", "read": "cold"}


def test_without_a_file_there_are_no_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert load_config() == Config()


def test_the_variable_wins_over_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, '[tables.here]\nread = "cold"')
    assert set(load_config().tables) == {"here"}

    monkeypatch.setenv(CONFIG_VARIABLE, str(write(tmp_path, '[tables.there]\nread = "cold"', "other.toml")))

    assert set(load_config().tables) == {"there"}


def test_a_file_that_was_named_has_to_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="does not exist"):
        load_config(tmp_path / "none.toml")

    monkeypatch.setenv(CONFIG_VARIABLE, str(tmp_path / "none.toml"))
    with pytest.raises(OptionError, match="does not exist"):
        load_config()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[defaults", "cannot be read"),
        ("[table.orders]\nread = 'cold'", r"section \[table\]"),
        ("[defaults]\nsubscripe = 'x'", "did you mean subscribe"),
        ("[tables.t]\nreads = 'cold'", "did you mean read"),
        ("[defaults]\nkafka.sasl.password = 'hunter2'", "must be a reference"),
        ("[tables.t]\nmaxHotRecords = -1", "above zero"),
        ("[tables.t]\nsnapshot-id = 1.5", "whole number"),
        ("tables = 3", "tables"),
        ("[tables]\nt = 3", "t"),
        ("[gateway]\n[gateway.x]\ny = 1\n[[defaults]]\n", "defaults"),
    ],
)
def test_a_mistake_in_the_file_is_an_option_error(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(OptionError, match=says):
        load_config(write(tmp_path, text))


def test_bytes_that_are_no_text_are_an_option_error(tmp_path: Path) -> None:
    path = tmp_path / "kafkaiceberg.toml"
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(OptionError, match="cannot be read"):
        load_config(path)


def test_opening_a_table_reads_the_file_and_nothing_else(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, '[tables."lake.orders"]\nsubscribe = "orders"'))

    table = open_table("lake.orders", {"columns": "id"}, config=config)

    assert table.options == {"subscribe": "orders", "columns": "id", "path": "lake.orders"}
