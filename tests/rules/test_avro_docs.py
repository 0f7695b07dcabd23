"""FORMATS.md says of each Avro type what the code does with it, and of no other type anything.

That the cells are true is tested beside the decoder and through the engines; here it is that none is missing.
"""

from __future__ import annotations

import re

from hotset.decode.avro.conversions import CONVERSIONS
from tests.formats.page import table_under

# Rows that are about more than one value.
NESTED = {"array", "map", "record", "union with null"}


def test_the_page_has_the_cells_of_the_codes_table() -> None:
    rows = {name: set(re.split(r", (?![^(]*\))", cells)) for name, cells in table_under("Avro")}

    told = {name: cells for name, cells in rows.items() if name not in NESTED}

    assert told == {name: _cells(name) for name in CONVERSIONS}


def _cells(name: str) -> set[str]:
    made = {
        column if how == "as it is" else f"{column} ({how})" for column, (how, _) in CONVERSIONS[name].items()
    }
    return made or {"refused"}
