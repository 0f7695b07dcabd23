"""Chunks in both of their forms: a little one is one file, any other has a file for each of its parts.

Tests write little, so that all of their chunks would be of one form. Which form it is must change no answer.
"""

from __future__ import annotations

import pytest


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no chunk be little."""
    monkeypatch.setattr("hotset.store.held._LITTLE_ROWS", 0)


@pytest.fixture(params=["whole", "apart"])
def form(request: pytest.FixtureRequest) -> str:
    """The form of the chunks that are written."""
    if request.param == "apart":
        request.getfixturevalue("apart")
    return str(request.param)
