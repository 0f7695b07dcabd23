"""Waiting for services to come round, always with an end.

Nothing here sleeps for a fixed time and hopes. It must not know what is waited for.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Final

from stack.errors import StackError

DEADLINE_S: Final = 120.0
POLL_S: Final = 0.05


def wait_until(is_met: Callable[[], bool], what: str, deadline_s: float = DEADLINE_S) -> None:
    """Wait until a condition holds; one that cannot be looked at for a moment does not hold yet.

    Raises:
        StackError: It did not come true in time; the message says `what` was waited for.
    """
    until = time.monotonic() + deadline_s
    cause: StackError | None = None
    while True:
        try:
            if is_met():
                return
        except StackError as exc:
            cause = exc
        if time.monotonic() > until:
            raise StackError(f"waited {deadline_s:g} s in vain for {what}") from cause
        time.sleep(POLL_S)


def is_answered(url: str) -> bool:
    """Return whether a server answers a question with success, within seconds."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False
