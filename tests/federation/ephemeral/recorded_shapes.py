"""Tables of all shapes that Iceberg's runtime has made, put in place again from what was recorded.

Readers of others are asked for them with hot rows added, so a shape that such rows cannot have is not here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.coldset.agreement import SparkTable, new_table
from tests.coldset.shapes import SHAPES as ALL
from tests.fixtures.staged_writers import StagedSpark
from tests.fixtures.stages import Player

# A record in JSON has no map whose keys are numbers, so that one has no hot rows.
SHAPES = {shape: steps for shape, steps in ALL.items() if shape != "all types are there"}
# Of this one engines count no rows without us, though they read three: deletes are by a column that is gone.
MISCOUNTED = "keys are of columns that have changed since"


def play(shape: str, folder: Path) -> SparkTable:
    """Put a table of some shape in place, in a folder of its own below this one."""
    name = re.sub(r"\W+", "_", shape).strip("_")
    player = Player(f"agreement/every_reader_has_the_rows_that_spark_reads_{name}")
    own = folder / name
    own.mkdir()
    table = new_table(StagedSpark(player, _nobody), own)
    table.run(SHAPES[shape])
    # Checksums of files that name others by their place, which is another one now.
    for checksum in own.rglob(".*.crc"):
        checksum.unlink()
    return table


def _nobody() -> Any:
    raise AssertionError("Spark is asked for what is not in the recording")
