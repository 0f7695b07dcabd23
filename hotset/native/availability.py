"""Records taken natively, where the module in C was built and librdkafka is the one of the wheel.

Both are optional: `hotset.consumed` does the same in Python. This file only finds out whether the native
way is there, and must not read anything.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
from dataclasses import dataclass
from typing import Final

# Set, to anything but nothing, it has everything done in Python: for tests, and to look for a fault.
PURE: Final = "KAFKAICEBERG_PURE"


@dataclass(frozen=True, slots=True)
class Native:
    """Whether records are taken natively, and by which librdkafka, or why not."""

    is_available: bool
    reason: str


def is_pure() -> bool:
    """Return whether everything is to be done in Python, whatever was built."""
    return bool(os.environ.get(PURE))


def native_available() -> Native:
    """Return whether drains take records natively in this process now."""
    if is_pure():
        return Native(is_available=False, reason=f"{PURE} is set")
    return _found()


@functools.cache
def _found() -> Native:
    try:
        from hotset.native import _reader
    except ImportError as exc:
        return Native(is_available=False, reason=f"the native reader was not built ({exc})")
    files = importlib.metadata.files("confluent-kafka") or ()
    bundled = [file for file in files if file.match("confluent_kafka.libs/librdkafka*.so*")]
    if len(bundled) != 1:
        return Native(is_available=False, reason="confluent-kafka brings no librdkafka of its own")
    try:
        version = _reader.load(str(bundled[0].locate()))
    except OSError as exc:
        return Native(is_available=False, reason=f"its librdkafka cannot be used: {exc}")
    return Native(is_available=True, reason=f"librdkafka {version}")


__all__ = ["PURE", "Native", "is_pure", "native_available"]
