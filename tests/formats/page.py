"""The tables of FORMATS.md, as tests read them.

A table stands under its heading; a cell of its second column names columns, separated by commas, each
perhaps with a condition in parentheses.
"""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "FORMATS.md"


def table_under(heading: str) -> list[list[str]]:
    """The rows of the first table under a heading, without its head."""
    [section] = re.findall(
        rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.M | re.S
    )
    [first, *_] = re.findall(r"(?:^\|.*\n)+", section, re.M)
    lines = first.splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def conversions_under(heading: str) -> set[tuple[str, str]]:
    """Each type with each column that it may become."""
    return {
        (kind.replace("`", ""), re.sub(r" \(.*\)", "", column))
        for kind, columns, *_ in table_under(heading)
        for column in re.split(r", (?![^(]*\))", columns)
        if column != "refused"
    }
