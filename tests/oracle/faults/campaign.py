"""Run faults by seed, count what came of them, and say it as one table.

Which fault comes when, and everything inside a round, follows from the seed; only the machine's own timing
does not. A campaign goes through all kinds before it begins again, so a short one is a thin one, not a
partial one.
"""

from __future__ import annotations

import random
import re
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.oracle.checker import Verdict
from tests.oracle.faults.arena import Arena
from tests.oracle.faults.round import Round, Row
from tests.oracle.model.explore import Explored


class Kind(NamedTuple):
    """One row of the fault matrix; `rounds` is how often a cycle has it."""

    code: str
    run: Callable[[Round], None]
    rounds: int = 1
    needs: str = ""

    @property
    def title(self) -> str:
        return (self.run.__doc__ or "").splitlines()[0]


@dataclass
class Tally:
    """What a campaign has come to: per kind of fault, and per comparator."""

    seed: int
    rows: dict[str, Row] = field(default_factory=dict)
    comparators: dict[str, Row] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    explored: Explored | None = None
    elapsed_s: float = 0.0

    @property
    def wrong(self) -> list[str]:
        failures = self.explored.failures if self.explored else []
        return [text for row in self.rows.values() for text in row.wrong] + [str(one) for one in failures]

    @property
    def answers(self) -> int:
        return sum(row.answers for row in self.rows.values())


def run(
    arena: Arena,
    kinds: Iterable[Kind],
    *,
    seed: int,
    minutes: float,
    cycles: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Tally:
    """Run rounds until the time is up, or so many cycles through all kinds are done.

    A round that breaks for reasons of its own (its set-up failed) says nothing of an answer: it is told and
    counted, and the next one begins.
    """
    tally = Tally(seed)
    rng = random.Random(seed)
    began_s = time.monotonic()
    listed = [kind for kind in kinds for _ in range(kind.rounds)]
    cycle = 0
    while cycles is None or cycle < cycles:
        rng.shuffle(listed)
        for number, kind in enumerate(listed):
            tally.elapsed_s = time.monotonic() - began_s
            if cycles is None and tally.elapsed_s > minutes * 60:
                return tally
            run_round(arena, kind, f"seed {seed}, cycle {cycle}, round {number}, {kind.code}", tally, tell)
        cycle += 1
    tally.elapsed_s = time.monotonic() - began_s
    return tally


def run_round(arena: Arena, kind: Kind, name: str, tally: Tally, tell: Callable[[str], None]) -> None:
    """Run one round; its name is all it takes to run it again."""
    row = tally.rows.setdefault(kind.code, Row())
    tally.titles[kind.code] = kind.title
    round_ = Round(arena, row, tally.comparators, name)
    began_s, known = time.monotonic(), len(row.wrong)
    try:
        kind.run(round_)
        round_.settle()
    except Exception:  # noqa: BLE001 - told, and counted apart: what was asked before it stays judged
        tell(f"{name} broke:\n{traceback.format_exc()}")
        tally.broken.append(name)
    told = ", ".join(f"{count} {verdict}" for verdict, count in row.verdicts.items())
    tell(f"{tally.elapsed_s:6.0f} s  {name} ({time.monotonic() - began_s:.1f} s): {told}")
    for text in row.wrong[known:]:
        tell(f"WRONG  {text}")


def render(tally: Tally) -> str:
    """The table, in Markdown."""
    head = "| | fault | injections | checked answers | correct | said why not | declared errors | wrong |"
    lines = [head, "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for code, row in sorted(tally.rows.items(), key=lambda item: _order(item[0])):
        lines.append(f"| {code} | {tally.titles[code]} {_counts(row, row.injections)}")
    total = Row(sum(row.injections for row in tally.rows.values()))
    for row in tally.rows.values():
        total.verdicts.update(row.verdicts)
    if tally.explored is not None:
        found = tally.explored
        lines.append(
            "| I6c | Everything between any two steps, in memory: random histories by the same seed. "
            f"| {found.schedules} | {found.answers} | {found.correct} | 0 | {found.declared} "
            f"| {found.wrong} |"
        )
    lines.append(f"| | **{len(tally.rows)} kinds, real services** {_counts(total, total.injections)}")
    lines += ["", "| comparator, under the same faults | answers | correct | errors | wrong |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for name, row in tally.comparators.items():
        counts = " | ".join(str(row.verdicts[verdict]) for verdict in _WITHOUT_RECEIPT)
        lines.append(f"| {name} | {row.answers} | {counts} |")
    lines += ["", f"seed {tally.seed}, {tally.elapsed_s / 60:.1f} minutes"]
    if tally.broken:
        lines.append(f"{len(tally.broken)} rounds could not be set up: {'; '.join(tally.broken)}")
    return "\n".join(lines)


_VERDICTS = (Verdict.CORRECT, Verdict.ASSUMED, Verdict.DECLARED, Verdict.WRONG)
# Comparators say nothing of what they assume.
_WITHOUT_RECEIPT = (Verdict.CORRECT, Verdict.DECLARED, Verdict.WRONG)


def _counts(row: Row, injections: int) -> str:
    counts = " | ".join(str(row.verdicts[verdict]) for verdict in _VERDICTS)
    return f"| {injections} | {row.answers} | {counts} |"


def _order(code: str) -> tuple[str, int, str]:
    letter, number, rest = re.match(r"([A-Z]+)(\d+)(.*)", code).groups()  # type: ignore[union-attr]
    return letter, int(number), rest
