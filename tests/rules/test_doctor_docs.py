"""DOCTOR.md has a section for each finding there is, and each finding there is has one.

The page is compared with what is rendered now; `make docs` renders it anew.
"""

from __future__ import annotations

import ast
import re

import pytest

from federation.doctor.catalogue import KINDS, Kind
from federation.doctor.examination import CHECKS
from federation.doctor.findings import Severity
from kafkaiceberg.docs import pages
from kafkaiceberg.doctor import EXIT
from tests.rules.sources import ROOT, sources

PAGE = (ROOT / "DOCTOR.md").read_text(encoding="utf-8")


def test_the_doctors_page_is_what_the_code_renders() -> None:
    assert pages()["DOCTOR.md"] == PAGE, "run `make docs`"


def test_every_code_has_its_section_and_no_section_is_left_over() -> None:
    assert re.findall(r"^## (.+)$", PAGE, re.MULTILINE) == [kind.code for kind in KINDS]
    assert len({kind.code for kind in KINDS}) == len(KINDS)


def test_every_code_is_looked_for_by_one_check() -> None:
    looked_for = [code for check in CHECKS for code in check.codes]

    assert sorted(looked_for) == sorted(kind.code for kind in KINDS)


def test_every_finding_in_the_code_is_of_the_catalogue() -> None:
    raised = {
        node.args[0].value
        for source in sources("federation")
        if source.path.startswith("federation/doctor/")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Finding"
        and isinstance(node.args[0], ast.Constant)
    }

    assert raised == {kind.code for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
def test_every_section_says_what_to_do(kind: Kind) -> None:
    assert kind.code.isupper()
    assert all(text.endswith(".") for text in (kind.meaning, kind.method, kind.advice))
    assert set(kind.severities.split(", ")) <= {severity.word for severity in Severity}


def test_exit_codes_are_none_of_those_that_mean_failure() -> None:
    assert EXIT == {Severity.INFO: 0, Severity.WARNING: 10, Severity.ERROR: 11}
    assert not set(EXIT.values()) & {1, 2, 3, 130}
