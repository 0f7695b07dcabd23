"""A committer in a process of its own, that stops or is killed just before a step of its real code.

    python -m tests.oracle.faults.committer BOOTSTRAP DIRECTORY TABLE TOPIC stop:STEP|kill:STEP

It is stopped or killed by signals it sends itself, so that nothing is cleaned up: as by an operator or by
the kernel.
"""

from __future__ import annotations

import importlib
import inspect
import os
import signal
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

from federation.cut.take import take_cut
from pipeline.errors import FencedError
from pipeline.freeze import commit
from tests.builders import Lake, stage_rows

FENCED: Final = 7
COLUMNS: Final = "partition=kafka_partition,offset=kafka_offset"


class Place(NamedTuple):
    """A call of the real code: what holds it, its name, which call of it, and on which side of it."""

    module: str
    name: str
    call: int = 1
    is_after: bool = False


PLACES: Final = {
    "C0 before it reads": Place("tests.builders", "read_split"),
    "C1 data files written": Place("tests.builders", "Staged"),
    "C2 before the manifest": Place("pyiceberg.table.update.snapshot", "write_manifest"),
    "C3 before the manifest list": Place("pyiceberg.table.update.snapshot", "write_manifest_list"),
    "C4 before the metadata file": Place("pyiceberg.catalog.sql", "SqlCatalog._write_metadata"),
    "C5 before the swap": Place("pyiceberg.catalog.sql", "Session.commit"),
    "C6 after the swap, before its answer": Place("pyiceberg.catalog.sql", "Session.commit", is_after=True),
    "C7 after the commit": Place("coldset.write.fenced_commit", "_snapshot_id", call=2),
}
STEPS: Final = tuple(PLACES)
# Not just before the swap: SQLite has given the lock of its only writer by then, and all others wait.
UNDECIDED: Final = STEPS[:5]


def arm(failpoint: str) -> None:
    """Let this process stop or die at a step."""
    how, _, step = failpoint.partition(":")
    number = signal.SIGSTOP if how == "stop" else signal.SIGKILL
    place = PLACES[step]
    owner, name = _owner(place.module, place.name), place.name.rpartition(".")[2]
    real = getattr(owner, name)
    left = [place.call]

    def armed(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and not place.is_after:
            os.kill(os.getpid(), number)
        result = real(*args, **kwargs)
        if left[0] == 0 and place.is_after:
            os.kill(os.getpid(), number)
        return result

    is_static = isinstance(inspect.getattr_static(owner, name), staticmethod)
    setattr(owner, name, staticmethod(armed) if is_static else armed)


def _owner(module: str, name: str) -> Any:
    owner: Any = importlib.import_module(module)
    for part in name.split(".")[:-1]:
        owner = getattr(owner, part)
    return owner


def main(bootstrap: str, directory: str, table: str, topic: str, failpoint: str) -> int:
    lake = Lake(bootstrap, Path(directory), table, topic, {"kafkaColumns": COLUMNS})
    arm(failpoint)
    try:
        commit(stage_rows(take_cut(lake.merged())))
    except FencedError:
        return FENCED
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
