"""What a number in a column of timestamps counts: JSON has no times, and writers do not agree.

The values are the units as Arrow names them, and as users do. It must not know which writer means which.
"""

from __future__ import annotations

from enum import StrEnum


class EpochUnit(StrEnum):
    """Units since 1970, or none if a number is no time.

    `ZONED_SECONDS` is what Spark's `from_json` does: seconds for a time with a zone, nothing for others.
    """

    SECONDS = "s"
    MILLIS = "ms"
    MICROS = "us"
    NONE = "none"
    ZONED_SECONDS = "zoned_s"

    def of(self, *, has_zone: bool) -> EpochUnit:
        """Return the unit in a column of times with or without a zone."""
        if self is not EpochUnit.ZONED_SECONDS:
            return self
        return EpochUnit.SECONDS if has_zone else EpochUnit.NONE
