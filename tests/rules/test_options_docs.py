"""OPTIONS.md says what the code takes, and each option can be read by people.

The page is compared with what is rendered now; `make docs` renders it anew.
"""

from __future__ import annotations

import pytest

from federation.options.option_set import Option, parse_option
from federation.options.option_table import OPTIONS
from kafkaiceberg.docs import pages
from sql_gateway.settings import SETTINGS
from tests.rules.sources import ROOT


def test_the_options_page_is_what_the_code_renders() -> None:
    page = (ROOT / "OPTIONS.md").read_text(encoding="utf-8")

    assert page == pages()["OPTIONS.md"], "run `make docs`"


@pytest.mark.parametrize("option", [*OPTIONS.declared, *SETTINGS.declared], ids=lambda option: option.name)
def test_options_have_a_sentence_and_a_default_that_parses(option: Option) -> None:
    assert option.help.endswith(".")
    if option.default is not None:
        parse_option(option, option.default)


def test_lengths_of_time_say_their_unit() -> None:
    timed = [option for option in (*OPTIONS.declared, *SETTINGS.declared) if option.name.endswith("Ms")]

    assert [option.name for option in timed if "illiseconds" not in option.help] == []


def test_option_names_differ_by_more_than_case() -> None:
    assert len({option.name.lower() for option in OPTIONS.declared}) == len(OPTIONS.declared)
