"""The steps of a query, and a way to let something happen between any two of them.

Interleavings are forced, not hoped for: a step of the real code waits until a real commit, deletion or
abort is done. The steps are named once, here, so that a scenario says only what happens and when.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest

import hotset.kafka.client
from hotset.kafka.client import KafkaClient
from tests.oracle.conftest import MakeWorld
from tests.oracle.world import World


class Step(NamedTuple):
    """The n-th call of a function: a module's, or the Kafka client's."""

    where: str
    name: str
    call: int = 1

    def __str__(self) -> str:
        return f"{self.where.rpartition('.')[2]}.{self.name}-{self.call}"


# Up to here a newer snapshot can still be chosen, if what is planned turns out to be gone.
PLANNING: Final = [
    Step("federation.cut.pinning", "open_catalog"),
    Step("federation.cut.pinning", "pin"),
    Step("federation.cut.pinning", "define"),
    Step("federation.cut.take", "resolve_boundary"),
    Step("federation.cut.take", "connect"),
    Step("federation.cut.take", "read_log_bounds"),
    Step("client", "describe", 1),
    Step("client", "list_offsets", 1),
    Step("client", "list_offsets", 2),
    Step("client", "list_offsets", 3),
]
READING: Final = [
    Step("client", "describe", 2),
    Step("federation.cut.take", "compute_cut"),
    Step("federation.table", "answer_schema"),
    Step("federation.table", "plan_cold_splits"),
    Step("federation.table", "read_split", 1),
    Step("federation.table", "plan_hot"),
    Step("federation.table", "read_split", 2),
    Step("hotset.store.row_source", "drain"),
    Step("hotset.store.row_source", "require_topic_id"),
]
STEPS: Final = [*PLANNING, *READING]


def before(patch: pytest.MonkeyPatch, step: Step, happens: Callable[[], object]) -> None:
    """Let something happen once, just before a step."""
    # A client that has read the topic's bounds before asks one question less.
    hotset.kafka.client._connect.cache_clear()
    owner: Any = KafkaClient if step.where == "client" else importlib.import_module(step.where)
    real = getattr(owner, step.name)
    left = [step.call]

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            happens()
        return real(*args, **kwargs)

    patch.setattr(owner, step.name, wrapped)


def some_of_both(world: MakeWorld) -> World:
    """A world with five records in the table and four in the log only."""
    here = world()
    here.fill(6, 0)
    here.fill(3, 1)
    here.freeze({0: 4, 1: 1})
    return here


def more_and_freeze(here: World) -> None:
    """Send, commit everything, and send once more."""
    here.fill(2, 0)
    here.freeze()
    here.fill(1, 1)
