"""What a number in a column of timestamps counts: JSON has no times, and writers do not agree.

The values are the units as Arrow names them, and as users do. It must not know which writer means which.
"""

from __future__ import annotations

from enum import StrEnum


class EpochUnit(StrEnum):
    """Units since 1970, or none if a number is no time."""

    SECONDS = "s"
    MILLIS = "ms"
    MICROS = "us"
    NONE = "none"
