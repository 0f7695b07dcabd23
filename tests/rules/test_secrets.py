"""A secret given by reference shows up nowhere: not in texts, errors, answers or output.

A canary is planted where secrets are looked up, everything that can fail is
made to fail, and what comes out is searched for it.
"""

from __future__ import annotations

import logging
import pickle
import traceback
from pathlib import Path

import pytest

from federation.errors import OptionError
from federation.options.config import Config, load_config
from federation.options.secrets import resolve
from federation.options.table_definition import define, merge_options
from federation.table import open_table
from foundation.errors import KafkaIcebergError
from hotset.kafka.client import connect
from kafkaiceberg.__main__ import main
from sql_gateway.app import create_app
from sql_gateway.settings import parse_settings
from tests.builders import Lake, make_table

CANARY = "canary-4711-secret"

NOWHERE = "127.0.0.1:9"  # discard: nothing answers there

# Two ways to fail while the secret is in use: no catalog, and no broker.
UNREACHABLE_CATALOG = {
    "catalog.type": "rest",
    "catalog.uri": f"http://{NOWHERE}",
    "catalog.token": "${env:CANARY}",
}


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY", CANARY)


@pytest.fixture
def options(tmp_path: Path) -> dict[str, str]:
    """A table that is there, of a topic that nobody serves."""
    made = Lake(NOWHERE, tmp_path, "lake.orders", "orders")
    make_table(made.catalog, made.table)
    return {
        **made.options,
        "planTimeoutMs": "300",
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.username": "reader",
        "kafka.sasl.password": "${env:CANARY}",
        "catalog.s3.secret-access-key": "${env:CANARY}",
    }


@pytest.fixture
def config_file(tmp_path: Path, options: dict[str, str]) -> Path:
    path = tmp_path / "kafkaiceberg.toml"
    broker = "".join(f'"{key}" = "{value}"\n' for key, value in options.items())
    catalog = "".join(f'"{key}" = "{value}"\n' for key, value in UNREACHABLE_CATALOG.items())
    path.write_text(
        f'[tables."lake.orders"]\n{broker}'
        f'[tables."far.orders"]\nsubscribe = "orders"\n"kafka.bootstrap.servers" = "{NOWHERE}"\n{catalog}',
        encoding="utf-8",
    )
    return path


def test_what_is_made_of_options_shows_no_secret(options: dict[str, str]) -> None:
    table = open_table("lake.orders", options, config=Config())

    definition = define(merge_options("lake.orders", options, {}), {})

    for made in (table, definition):
        assert CANARY not in repr(made)
        assert CANARY.encode() not in pickle.dumps(made)


def test_a_connected_client_shows_no_secret() -> None:
    settings = {"bootstrap.servers": NOWHERE, "sasl.mechanism": "PLAIN", "sasl.username": "u"}

    client = connect({**settings, "security.protocol": "SASL_PLAINTEXT", "sasl.password": CANARY})

    assert CANARY not in repr(client)


def test_a_failed_connection_to_kafka_shows_no_secret(options: dict[str, str]) -> None:
    with pytest.raises(KafkaIcebergError) as caught:
        open_table("lake.orders", options, config=Config()).cut()

    assert caught.value.code == "KAFKA_UNAVAILABLE"
    assert CANARY not in _everything(caught.value)


def test_a_failed_connection_to_the_catalog_shows_no_secret() -> None:
    options = {"subscribe": "orders", "kafka.bootstrap.servers": NOWHERE, **UNREACHABLE_CATALOG}

    with pytest.raises(KafkaIcebergError) as caught:
        open_table("far.orders", options, config=Config()).cut()

    assert CANARY not in _everything(caught.value)


@pytest.mark.parametrize("table", ["lake.orders", "far.orders"])
def test_the_gateway_shows_no_secret(config_file: Path, table: str, caplog: pytest.LogCaptureFixture) -> None:
    client = create_app(load_config(config_file), parse_settings({})).test_client()

    with caplog.at_level(logging.DEBUG):
        answer = client.get("/v1/sql", query_string={"q": f"select * from {table}"})

    assert answer.status_code in (400, 503)
    assert CANARY not in answer.text
    assert CANARY not in caplog.text


@pytest.mark.parametrize("table", ["lake.orders", "far.orders"])
def test_the_command_line_shows_no_secret(
    config_file: Path, table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["--config", str(config_file), "query", f"select * from {table}"])

    shown = capsys.readouterr()
    assert code in (2, 3)
    assert CANARY not in shown.out + shown.err


@pytest.mark.parametrize(
    "name",
    [
        "kafka.sasl.password",
        "KAFKA.SASL.PASSWORD",
        "kafka.ssl.key.password",
        "kafka.ssl.key.pem",
        "kafka.ssl.keystore.password",
        "schema.registry.basic.auth.user.info",
        "schema.registry.bearer.auth.token",
        "schema.registry.ssl.key.password",
        "catalog.token",
        "catalog.credential",
        "catalog.s3.secret-access-key",
        "catalog.s3.session-token",
        "catalog.adls.account-key",
        "catalog.adls.sas-token",
        "catalog.adls.client-secret",
    ],
)
def test_a_bare_secret_is_refused_and_not_repeated(name: str) -> None:
    with pytest.raises(OptionError, match="must be a reference") as caught:
        merge_options("lake.orders", {name: CANARY}, {})

    assert CANARY not in _everything(caught.value)


def test_a_bare_gateway_token_is_refused_and_not_repeated() -> None:
    with pytest.raises(OptionError, match="must be a reference") as caught:
        parse_settings({"token": CANARY})

    assert CANARY not in _everything(caught.value)


def test_settings_show_no_secret() -> None:
    settings = parse_settings({"token": "${env:CANARY}"})

    assert settings.token == CANARY
    assert CANARY not in repr(settings)


def test_references_are_resolved_from_environment_and_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("from a file\n", encoding="utf-8")

    found = resolve({"a": "${env:CANARY}", "b": f"${{file:{secret}}}", "c": "as it is"})

    assert found == {"a": CANARY, "b": "from a file", "c": "as it is"}


@pytest.mark.parametrize("reference", ["${env:NOT_SET_ANYWHERE}", "${file:/not/there}"])
def test_a_reference_to_nothing_is_an_error_that_names_it(reference: str) -> None:
    with pytest.raises(OptionError, match="refers to") as caught:
        resolve({"kafka.sasl.password": reference})

    assert caught.value.details == {"option": "kafka.sasl.password"}


def _everything(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error) + repr(getattr(error, "details", ""))
