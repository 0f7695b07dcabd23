"""Waiting for services to come round, always with an end.

Nothing here sleeps for a fixed time and hopes. It must not know what is waited for.
"""

from __future__ import annotations

import time
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
