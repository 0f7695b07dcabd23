"""What of a table can be read by a name: its rows, and records of its topic that are none.

`shop.orders$dead_letters` is no table of its own: it has the cut, the options and
the receipt of `shop.orders`. The file knows names only; what is in a part is decided
where splits are planned.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

_MARK: Final = "$"


class Part(StrEnum):
    """A part of a table, as it is written after the table's name."""

    ROWS = ""
    DEAD_LETTERS = "dead_letters"

    def of(self, table: str) -> str:
        """Return the name of this part of a table."""
        return table if self is Part.ROWS else f"{table}{_MARK}{self.value}"


def split_name(name: str) -> tuple[str, Part]:
    """Return the table that a name means, and which part of it."""
    table, mark, part = name.rpartition(_MARK)
    if mark and table and part.lower() == Part.DEAD_LETTERS:
        return table, Part.DEAD_LETTERS
    return name, Part.ROWS
