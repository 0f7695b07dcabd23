"""ERRORS.md says what the code raises, and every error has its policy on it.

Errors travel: from Spark's workers, through threads, into answers. So each of
them must survive pickling whole.
"""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from foundation.errors import KafkaIcebergError
from kafkaiceberg.docs import error_classes, pages
from sql_gateway.errors import GatewayError
from tests.rules.sources import ROOT

CLASSES = error_classes()

# Errors of the HTTP door become an envelope where they are raised.
TRAVELLING = [cls for cls in CLASSES if not issubclass(cls, GatewayError)]


def test_the_errors_page_is_what_the_code_renders() -> None:
    page = (ROOT / "ERRORS.md").read_text(encoding="utf-8")

    assert page == pages()["ERRORS.md"], "run `make docs`"


def test_codes_are_unique() -> None:
    roots = {KafkaIcebergError, *KafkaIcebergError.__subclasses__()}
    codes = [cls.code for cls in {*CLASSES, *roots}]

    assert len(set(codes)) == len(codes)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_errors_carry_their_policy(cls: Any) -> None:
    assert cls.code.isupper()
    assert "code" in vars(cls)
    assert cls.kind in ("user", "external", "internal")
    assert cls.retriable is False or cls.kind == "external"
    assert cls.__doc__


@pytest.mark.parametrize("cls", TRAVELLING, ids=lambda cls: cls.__name__)
def test_errors_survive_pickling(cls: Any) -> None:
    error = cls("what failed, on what, what to do", table="lake.orders", partition=3)

    arrived = pickle.loads(pickle.dumps(error))

    assert type(arrived) is cls
    assert str(arrived) == "what failed, on what, what to do"
    assert arrived.details == {"table": "lake.orders", "partition": 3}
    assert arrived.code == cls.code
