"""`python -m tests.oracle`: hurt everything by seed, judge every answer, print one table.

    python -m tests.oracle [--seed N] [--minutes M] [--only K1,K5] [--cycles N] [--no-spark]
    python -m tests.oracle --replay 'seed 7, cycle 0, round 3, K6'

Exit code 1 if a single answer was wrong. The verdicts are also written to `build/oracle/`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from tests.oracle.faults.arena import Arena
from tests.oracle.faults.campaign import Tally, render, run, run_round
from tests.oracle.faults.catalogue import ALL
from tests.oracle.model.explore import explore

# Actions in a random history in memory, and how many histories.
HISTORY = 6
WALKS = 300


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.oracle", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--cycles", type=int, help="end after so many rounds of every kind instead")
    parser.add_argument("--only", default="", help="kinds of fault, separated by commas")
    parser.add_argument("--replay", metavar="ROUND", help="run one round again, by the name it was told with")
    parser.add_argument("--no-spark", action="store_true", help="leave out Spark and what needs it")
    parsed = parser.parse_args()
    wanted = set(filter(None, parsed.only.split(",")))
    kinds = [kind for kind in ALL if not wanted or kind.code in wanted]
    if parsed.no_spark:
        kinds = [kind for kind in kinds if kind.needs != "spark"]
    with (
        tempfile.TemporaryDirectory(prefix="oracle-", ignore_cleanup_errors=True) as directory,
        Arena(Path(directory), has_spark=not parsed.no_spark) as arena,
    ):
        if parsed.replay:
            [kind] = [kind for kind in ALL if kind.code == parsed.replay.rpartition(" ")[2]]
            run_round(arena, kind, parsed.replay, tally := Tally(parsed.seed), _tell)
        else:
            tally = run(
                arena, kinds, seed=parsed.seed, minutes=parsed.minutes, cycles=parsed.cycles, tell=_tell
            )
    if not wanted:
        _tell("I6c: histories in memory")
        tally.explored = explore(HISTORY, tally.seed, walks=WALKS)
    print(render(tally))
    keep(tally)
    return 1 if tally.wrong else 0


def keep(tally: Tally) -> None:
    folder = Path("build", "oracle")
    folder.mkdir(parents=True, exist_ok=True)
    rows = {code: {"title": tally.titles[code], **_plain(row)} for code, row in tally.rows.items()}
    others = {name: _plain(row) for name, row in tally.comparators.items()}
    document = {"seed": tally.seed, "elapsed_s": tally.elapsed_s, "faults": rows, "comparators": others}
    (folder / f"seed-{tally.seed}.json").write_text(json.dumps(document, indent=1), encoding="utf-8")


def _plain(row: object) -> dict[str, object]:
    fields = vars(row)
    return fields | {"verdicts": {str(v): n for v, n in fields["verdicts"].items()}}


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
