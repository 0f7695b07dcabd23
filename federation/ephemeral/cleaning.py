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

# By location: how the last one who published reached it, and for how few seconds snapshots are kept there.
_spaces: Final[dict[str, tuple[Scratch, float]]] = {}
_lock: Final = threading.Lock()
# Threads of a parent process are its own.
os.register_at_fork(after_in_child=_spaces.clear)


def keep_clean(scratch: Scratch, keep_s: float) -> None:
    """See to it that what is over goes, now and later, until nothing is left.

    Args:
        scratch: The place.
        keep_s: For how many seconds its snapshots are kept.
    """
    with _lock:
        known = _spaces.get(scratch.uri)
        _spaces[scratch.uri] = (scratch, keep_s if known is None else min(keep_s, known[1]))
    if known is None:
        _clean(scratch.uri)


def _clean(uri: str) -> None:
    if not CHORES.take(lambda: _look(uri)):
        _again(uri)


def _look(uri: str) -> None:
    with _lock:
        known = _spaces.get(uri)
    if known is None:
        return
    left = 1
    with contextlib.suppress(OSError):  # a place that cannot be reached is looked at again
        left = clean_scratch(known[0])
    with _lock:
        # Whoever has published since is not forgotten.
        if left == 0 and _spaces.get(uri) is known:
            del _spaces[uri]
            return
    _again(uri)


def _again(uri: str) -> None:
    with _lock:
        known = _spaces.get(uri)
    if known is None:
        return
    timer = threading.Timer(max(_LEAST_S, known[1] * _PART), _clean, (uri,))
    timer.daemon = True
    timer.start()
