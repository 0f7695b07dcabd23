"""Tables of random history, by seed, read by every reader in between.

`python -m tests.coldset.random_tables --count 300 --seed 7 --keep FOLDER` prints a line for each table that
some reader gets wrong, with the steps that led there; `--again FOLDER` asks the readers of now for the tables
that were kept. Steps are in `histories`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from stack.spark_writer import SparkWriter
from tests.coldset.histories import STEPS, try_table
from tests.coldset.moments import FILTERS, kept_moments
from tests.fixtures.staged_writers import StagedSpark
from tests.fixtures.stages import Live

# Tables are tiny, so compiling costs more than it saves.
IN_A_HURRY: Final = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    # It keeps deleted keys in the types of their first reading, and finds none once a column is widened.
    "spark.sql.iceberg.executor-cache.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def make(folder: Path, seeds: Sequence[int], steps: int) -> int:
    """Make tables, and print those that are read wrongly; return how many."""
    failed = made = refused = unread = 0
    # All tables share a catalog, so that Spark opens it once.
    with SparkWriter(folder, IN_A_HURRY) as writer:
        staged = StagedSpark(Live(), lambda: writer)
        for number, seed in enumerate(seeds, 1):
            history, wrong = try_table(staged, folder, seed, steps)
            made, refused = made + len(history.steps), refused + history.refused
            unread += history.is_unread
            if wrong:
                failed += 1
                print(f"seed {seed}: {'; '.join(wrong)}", *history.steps, sep="\n  ", flush=True)
            if number % 10 == 0:
                print(f"{number} of {len(seeds)} tables: {failed} read wrongly", file=sys.stderr, flush=True)
    print(f"{len(seeds)} tables, {made} steps, {refused} refused by Spark: {failed} read wrongly")
    print(f"{unread} tables had to be given up, because Spark itself could not read them")
    return failed


def ask_again(folder: Path, filters: int) -> int:
    """Read the tables that a folder keeps, and print those that are read wrongly; return how many."""
    failed = asked = 0
    for moment in kept_moments(folder):
        wrong = moment.wrong_readers(filters)
        asked += 1
        if wrong:
            failed += 1
            print(f"{moment.name}: {'; '.join(wrong)}", *moment.steps, sep="\n  ", flush=True)
    print(f"{asked} moments of tables, each with {filters} filters too: {failed} read wrongly")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--keep", type=Path, help="a folder that keeps the tables and Spark's rows of them")
    parser.add_argument("--again", type=Path, help="make no tables, but read those that such a folder keeps")
    parser.add_argument("--filters", type=int, default=FILTERS, help="random filters for each kept table")
    given = parser.parse_args()
    if given.again:
        return min(ask_again(given.again.resolve(), given.filters), 1)
    seeds = range(given.seed, given.seed + given.count)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        return min(make(folder, seeds, given.steps), 1)


if __name__ == "__main__":
    sys.exit(main())
