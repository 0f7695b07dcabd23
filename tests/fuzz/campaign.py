"""Rounds of hurt records, each in a process that may die without taking the count with it.

A worker does one round after another and tells what it saw. If it dies or stays
silent too long, that is a crash of the round it was in, and the next round gets a
new worker. So a round is named by seed and number, and can be run again alone.
"""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Final

from tests.fuzz.frame import Round, Tally, judge
from tests.fuzz.mutations import mutate
from tests.fuzz.targets import target

RECORDS_OF_A_ROUND: Final = 400
# Of the records of a round, how many stay as they are: they have to survive their neighbours.
_GOOD: Final = 0.1
# Of those that are hurt, how many in ways that know no format, if the format has ways of its own.
_PLAIN: Final = 0.5
_SILENCE_S: Final = 120.0
_SHOWN: Final = 20


def run_round(name: str, seed: int, number: int) -> Tally:
    """Do one round of a format, in this process."""
    rng = random.Random(f"{name} {seed} {number}")
    round_ = target(name).make_round(rng)
    payloads, good = [], []
    for _ in range(RECORDS_OF_A_ROUND):
        payload = round_.record(rng)
        hurt = payload if rng.random() < _GOOD else _hurt(round_, rng, payload)
        payloads.append(hurt)
        good.append(hurt == payload)
    tally = judge(round_, payloads, good)
    place = f"{name}, seed {seed}, round {number}: "
    tally.differences = [place + text for text in tally.differences]
    tally.crashes = [place + text for text in tally.crashes]
    return tally


def _hurt(round_: Round, rng: random.Random, payload: bytes) -> bytes:
    if round_.hurt is None or rng.random() < _PLAIN:
        return mutate(rng, payload)
    return round_.hurt(rng, payload)


def run(name: str, *, seed: int, records: int, tell: Callable[[str], None]) -> Tally:
    """Do rounds until so many records were hurt, or too many of them were wrong to look at."""
    total, number, told = Tally(), 0, 0
    while total.mutated < records and len(total.differences) + len(total.crashes) < _SHOWN:
        number = _rounds_of_a_worker(name, seed, number, records, total)
        if total.mutated - told >= 100_000:
            told = total.mutated
            tell(f"{name}: {told} records hurt, {len(total.differences)} different")
    return total


def _rounds_of_a_worker(name: str, seed: int, number: int, records: int, total: Tally) -> int:
    # Long-lived enough to show what leaks, and short enough to tell of progress.
    last = number + 250
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    worker = context.Process(target=_work, args=(theirs, name, seed, number, last), daemon=True)
    worker.start()
    theirs.close()
    try:
        while number < last and total.mutated < records:
            if not ours.poll(_SILENCE_S):
                total.crashes.append(f"{name}, seed {seed}, round {number}: did not end")
                return number + 1
            try:
                total.add(ours.recv())
            except EOFError:
                worker.join()
                code = worker.exitcode
                total.crashes.append(f"{name}, seed {seed}, round {number}: the process died ({code})")
                return number + 1
            number += 1
        return number
    finally:
        worker.kill()
        worker.join()
        ours.close()


def _work(pipe: Connection, name: str, seed: int, first: int, last: int) -> None:
    try:
        for number in range(first, last):
            pipe.send(run_round(name, seed, number))
    except BrokenPipeError:  # whoever asked has enough
        return
