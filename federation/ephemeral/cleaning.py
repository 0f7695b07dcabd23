"""When scratch spaces are cleaned: by a process that publishes, now and for as long as something is left.

Whoever publishes first removes what processes before it have left behind. Nothing depends on it: the next one
looks again. What is removed is `scratch`'s to decide.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Final

from federation.ephemeral.scratch import Scratch, clean_scratch
from hotset.store import CHORES

# Between two looks at a scratch space, as a part of the time that snapshots are kept.
_PART: Final = 0.25
_LEAST_S: Final = 0.5

_cleaned: Final[set[str]] = set()
_lock: Final = threading.Lock()
# Threads of a parent process are its own.
os.register_at_fork(after_in_child=_cleaned.clear)


def keep_clean(scratch: Scratch, keep_s: float) -> None:
    """See to it that what is over goes, now and later, until nothing is left.

    Args:
        scratch: The place.
        keep_s: For how many seconds its snapshots are kept.
    """
    with _lock:
        if scratch.uri in _cleaned:
            return
        _cleaned.add(scratch.uri)
    _clean(scratch, keep_s)


def _clean(scratch: Scratch, keep_s: float) -> None:
    def clean() -> None:
        is_empty = False
        with contextlib.suppress(OSError):  # a place that cannot be reached is looked at again
            is_empty = clean_scratch(scratch, keep_s) == 0
        if is_empty:
            with _lock:
                _cleaned.discard(scratch.uri)
            return
        again = threading.Timer(max(_LEAST_S, keep_s * _PART), _clean, (scratch, keep_s))
        again.daemon = True
        again.start()

    if not CHORES.take(clean):
        with _lock:
            _cleaned.discard(scratch.uri)
