"""`python -m tests.fuzz FORMAT`: hurt records by the million and hold every decoder against a reference.

    python -m tests.fuzz avro [--records 1000000] [--seed N]
    python -m tests.fuzz avro --seed N --round R        one round again, in this process

Exit code 1 if anything crashed, hung or was decoded in another way than the reference does.
Where a decoder may be stricter than its reference is written in the format's module, as
rules, and how often each was needed is printed.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz.campaign import run, run_round
from tests.fuzz.frame import Tally
from tests.fuzz.targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("format", choices=sorted(TARGETS))
    parser.add_argument("--records", type=int, default=1_000_000, help="how many to hurt")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--round", type=int, help="do this one again")
    parsed = parser.parse_args()
    started = time.monotonic()
    if parsed.round is not None:
        tally = run_round(parsed.format, parsed.seed, parsed.round)
    else:
        tally = run(parsed.format, seed=parsed.seed, records=parsed.records, tell=_tell)
    print(render(parsed.format, parsed.seed, tally, time.monotonic() - started))
    return 1 if tally.differences or tally.crashes else 0


def render(name: str, seed: int, tally: Tally, elapsed_s: float) -> str:
    """What was seen, worst first."""
    lines = [*tally.crashes, *tally.differences]
    lines.append(
        f"{name}, seed {seed}: {tally.records} records, {tally.mutated} of them hurt, in {elapsed_s:.0f} s: "
        f"{tally.rows} rows, {tally.faults} faults, {len(tally.crashes)} crashes, "
        f"{len(tally.differences)} differences"
    )
    lines += [f"  {count} times: {rule}" for rule, count in tally.excused.most_common()]
    return "\n".join(lines)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
