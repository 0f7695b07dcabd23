"""Faults of transactions: records that occupy offsets and must never, not yet, or at once be seen."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from subprocess import PIPE, Popen

from tests.builders import wait_until
from tests.oracle import ways
from tests.oracle.faults.round import Round
from tests.oracle.journal import Sender, TxnState, recall
from tests.oracle.shapes import ENDINGS, PLACES, lay, split_by_split
from tests.oracle.steps import Step, before


def k1_shapes(round_: Round) -> None:
    """Aborted, committed and open transactions at every place of a range, and a boundary at any offset."""
    rng = round_.rng
    shape = rng.choice([*PLACES.values(), "".join(rng.choices("pT", k=rng.randint(2, 6)))])
    here = round_.world()
    laid = lay(here, rng.choice(ENDINGS), shape)
    round_.inject()
    readable = {r.partition: r.end for r in here.lake.open().cut().ranges}[0]
    for _ in range(4):
        there = here.with_new_table()
        round_.freeze(there, {0: rng.randint(0, readable), 1: rng.randint(0, 2)})
        round_.ask(there)
    split = here.having(maxRecordsPerPartition=str(rng.randint(1, 4)))
    round_.ask(split, {"split by split": split_by_split})
    laid.finish()
    round_.heals(here)


def k2_open(round_: Round) -> None:
    """A transaction that stays open while questions are asked, and is committed afterwards."""
    here = round_.begun()
    sender = here.sender("open", transactional=True)
    sender.begin()
    sender.send(round_.rng.randint(1, 4), round_.rng.randint(0, 1))
    round_.some(here)
    round_.inject()
    round_.ask(here)
    round_.freeze(here)
    round_.some(here)
    round_.ask(here)
    sender.commit()
    round_.heals(here)


def k3_aborted_while_read(round_: Round) -> None:
    """A transaction that is aborted between the plan and the read, or while ranges are being read."""
    here = round_.begun()
    sender = here.sender("late", transactional=True)
    sender.begin()
    sender.send(round_.rng.randint(1, 5), 0)
    round_.some(here)
    step = round_.rng.choice(
        [
            Step("hotset.store.row_source", "drain"),
            Step("client", "list_offsets", 2),
            Step("federation.cut.pinning", "define"),
        ]
    )
    with round_.patching() as patch:
        before(patch, step, lambda: round_.inject(sender.abort))
        round_.ask(here, {"library": ways.library})
    round_.heals(here)


def k4_killed_producer(round_: Round) -> None:
    """A producer killed with a transaction open; the broker aborts it when its time is up."""
    here = round_.begun()
    path = Path(here.lake.directory, "producer.journal")
    script = [sys.executable, "-m", "tests.oracle.journal", here.lake.bootstrap, here.lake.topic, str(path)]
    with Popen([*script, str(round_.rng.randint(0, 1 << 30))], stdin=PIPE, env=_environment()) as child:
        try:
            wait_until(lambda: path.exists() and '"open"' in path.read_text(), "an open transaction")
            time.sleep(round_.rng.uniform(0, 0.3))
            round_.inject(lambda: child.send_signal(signal.SIGKILL))
        finally:
            child.kill()
    recall(here.journal, path)
    for _ in range(3):
        round_.some(here)
        round_.ask(here)
    # Whoever takes up the name ends what the killed one left open; until then the broker's clock does.
    Sender(here.lake, here.journal, "killed", transactional=True)
    for txn, state in here.journal.txns.items():
        if state is TxnState.OPEN:
            here.journal.note_txn(txn, TxnState.ABORTED)
    round_.heals(here)


def k4_mixture(round_: Round) -> None:
    """Several producers at once, in and out of transactions, with commits in between."""
    here = round_.begun()
    senders = [here.sender(f"txn{i}", transactional=True) for i in range(2)]

    def happen() -> None:
        for _ in range(4):
            for sender in senders:
                sender.begin()
                sender.send(round_.rng.randint(1, 3), round_.rng.randint(0, 1))
                round_.rng.choice([sender.commit, sender.abort])()
            round_.some(here)
            round_.freeze(here)

    round_.meanwhile(here, happen)
    round_.heals(here)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.getcwd()}
