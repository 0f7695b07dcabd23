"""Which of a run's processes has which tests, and in which order.

The tests of a file stay in one process, so that what its fixtures start is started once; and what takes
longest begins first, so that no process waits for another in the end. It must not know what is tested.
"""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadScopeScheduling

# Files that share what only one process can have, or what takes seconds to start.
TOGETHER: Final[tuple[tuple[str, ...], ...]] = (
    # Kafka Connect, and a Spark program with Iceberg's runtime.
    ("tests/writers/", "tests/coldset/read/test_agreement.py", "tests/coldset/read/test_random_tables.py"),
    # Topics that are named as Flink has recorded them.
    ("tests/federation/boundary/flink/test_flink.py", "tests/federation/boundary/flink/test_flink_jobs.py"),
    # A broker that is stopped and started again.
    (
        "tests/hotset/kafka/test_history.py",
        "tests/hotset/store/test_truncated.py",
        "tests/hotset/drain/test_drain.py",
    ),
)

# What takes longest, in this order.
FIRST: Final = (
    "tests/oracle/test_loop.py",
    *TOGETHER[0],
    "tests/benchmarks/",
    "tests/oracle/test_faults.py",
    "tests/stack/test_demo.py",
    "tests/packaging/test_wheel.py",
    "tests/oracle/model/",
    "tests/stack/",
    "tests/rules/test_readme.py",
    "tests/spark/",
    "tests/pipeline/",
    "tests/formats/",
)


def unit(nodeid: str) -> str:
    """Return what a test must share a process with: its file, or what files have in common."""
    path = nodeid.partition("::")[0]
    return next((files[0] for files in TOGETHER if path.startswith(files)), path)


def place(nodeid: str) -> int:
    """Return which of the long ones a test belongs to; the others come last, as they were collected."""
    return next((at for at, path in enumerate(FIRST) if nodeid.startswith(path)), len(FIRST))


class Scheduling(LoadScopeScheduling):
    """Hands out units in the order of collection, to whoever is free."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)
