"""`python -m tests.oracle.model`: explore all histories in memory, and show what planted bugs would do.

    python -m tests.oracle.model [--depth 2 | --deep] [--seed N --walks N] [--bug NAME]

Prints one table of the ways to ask, one of the planted bugs, and each bug's shortest history, one line a
step. Exit code 1 if this project's own code gave a wrong answer, or if a bug was not caught.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.oracle.model.bugs import BUGS, Bug
from tests.oracle.model.explore import Failure, explore, shortest_failure
from tests.oracle.model.ways import COMPARATORS, OURS, told_way

DEEP = 3


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.oracle.model", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--depth", type=int, default=2, help="actions after each past")
    parser.add_argument("--deep", action="store_true", help=f"the same as --depth {DEEP}; takes hours")
    parser.add_argument("--seed", type=int, help="random schedules instead of all")
    parser.add_argument("--walks", type=int, default=10_000, help="how many random ones")
    parser.add_argument("--bug", help="only show this planted bug")
    parsed = parser.parse_args()
    wrong = 0
    if parsed.bug is None:
        wrong = show_ways(DEEP if parsed.deep else parsed.depth, parsed.seed, parsed.walks)
    missed = show_bugs([bug for bug in BUGS if parsed.bug in (None, bug.name)])
    return 1 if wrong or missed else 0


def show_ways(depth: int, seed: int | None, walks: int) -> int:
    """Print what each way came to; return the wrong answers of ours."""
    row = "{:<52} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7}"
    print(row.format("way to ask", "schedules", "answers", "correct", "declared", "wrong", "CPU s"))
    wrong = 0
    for way in (*OURS, *COMPARATORS):
        began_s = time.process_time()
        found = explore(depth, seed, ways=[way], walks=walks)
        took_s = time.process_time() - began_s
        counts = (found.schedules, found.answers, found.correct, found.declared, found.wrong)
        print(row.format(told_way(way)[:52], *counts, f"{took_s:.0f}"), flush=True)
        if way in OURS:
            wrong += found.wrong
            for failure in found.failures[:1]:
                print(failure)
    return wrong


def show_bugs(bugs: list[Bug]) -> int:
    """Print each planted bug and the shortest history that shows it; return how many were missed."""
    found: list[tuple[Bug, Failure | None]] = [(bug, shortest_failure(bug.way, bug.plant)) for bug in bugs]
    row = "{:<30} {:<18} {:>7}  {}"
    print("\n" + row.format("planted bug", "caught by", "actions", "what it does"))
    for bug, failure in found:
        caught, actions = (failure.faults[0].invariant, failure.actions) if failure else ("nothing", "-")
        print(row.format(bug.name, caught, actions, (bug.plant.__doc__ or "").strip()))
    for bug, failure in found:
        print(f"\n{bug.name}\n{failure}")
    return sum(failure is None for _, failure in found)


if __name__ == "__main__":
    sys.exit(main())
