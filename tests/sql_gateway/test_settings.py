"""The `[gateway]` section: its defaults, and every mistake in it named.

Who is let in by these settings is tested with the door itself, in `test_admission`.
"""

from __future__ import annotations

import pytest

from federation.errors import OptionError
from sql_gateway.settings import SETTINGS, parse_settings


def test_defaults_are_those_of_the_table_of_settings() -> None:
    settled = parse_settings({})

    assert (settled.host, settled.port, settled.threads, settled.token) == ("127.0.0.1", 8765, 8, None)
    assert (settled.limits.timeout_ms, settled.limits.max_rows) == (60_000, 1_000_000)


@pytest.mark.parametrize("option", SETTINGS.declared, ids=lambda option: option.name)
def test_names_compare_without_case(option: object) -> None:
    name = option.name  # type: ignore[attr-defined]
    value = {"token": "${env:TOKEN}", "lendStorageAccess": "true"}.get(name, "7")

    assert SETTINGS.check({name.upper(): value}) == {name: value}


@pytest.mark.parametrize(("typo", "says"), [("prot", "did you mean port"), ("zzzzzz", r"see OPTIONS\.md")])
def test_an_unknown_setting_is_an_error_that_names_the_nearest(typo: str, says: str) -> None:
    with pytest.raises(OptionError, match=f"no gateway setting '{typo}'; {says}"):
        parse_settings({typo: "1"})


@pytest.mark.parametrize(("name", "value"), [("port", "http"), ("threads", "0"), ("host", "")])
def test_a_malformed_setting_is_an_error_that_names_it(name: str, value: str) -> None:
    with pytest.raises(OptionError, match=f"'{name}'"):
        parse_settings({name: value})


def test_the_token_is_a_reference_and_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_TOKEN", "let-me-in")

    settled = parse_settings({"token": "${env:GATEWAY_TOKEN}"})

    assert settled.token == "let-me-in"
    assert "let-me-in" not in repr(settled)
    with pytest.raises(OptionError, match="must be a reference"):
        parse_settings({"token": "let-me-in"})


@pytest.mark.parametrize("token", ["", " ", "let me in", "let-me-in\n", "d\u00e9j\u00e0"])
def test_a_token_that_no_client_can_send_is_refused(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("GATEWAY_TOKEN", token)

    with pytest.raises(OptionError, match="token"):
        parse_settings({"host": "0.0.0.0", "token": "${env:GATEWAY_TOKEN}"})
