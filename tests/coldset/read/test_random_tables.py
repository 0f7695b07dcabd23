"""A few tables of random history, read by every reader; `random_tables` makes as many as one likes.

The seeds are fixed, so that a failure is one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from stack.spark_writer import SparkWriter
from tests.coldset.histories import try_table
from tests.fixtures.staged_writers import StagedSpark
from tests.fixtures.stages import Live

pytestmark = [pytest.mark.spark, pytest.mark.long]


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_a_table_of_random_history_is_read_as_spark_reads_it(
    seed: int, spark_program: SparkWriter, tmp_path: Path
) -> None:
    history, wrong = try_table(StagedSpark(Live(), lambda: spark_program), tmp_path, seed)

    assert wrong == [], history.steps
    assert len(history.steps) > 4
