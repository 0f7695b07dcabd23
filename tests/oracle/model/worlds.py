"""Where explorations begin: worlds that a few actions have made, each of which can be told from nothing.

An interesting bug needs a past (a rollback, a compaction, a transaction) as much as a bad moment. Each past
is a list of actions, so that a failing history can be printed from an empty topic on.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hotset.kafka.offsets import Isolation
from tests.oracle.model import actions as a
from tests.oracle.model.actions import Action
from tests.oracle.model.state import World


class Given(NamedTuple):
    """A past, and the settings of the table that it happened to."""

    name: str
    past: tuple[Action, ...] = ()
    settings: World = World()

    @property
    def world(self) -> World:
        at = self.settings
        for action in self.past:
            changed = action(at)
            assert changed is not None, f"{self.name}: {action.__name__} cannot happen"
            at = changed
        return at


_GAPS: Final = World(accepts_gaps=True)
_LOOSE: Final = World(level=Isolation.READ_UNCOMMITTED)

GIVEN: Final = (
    Given("nothing"),
    Given("nothing, gaps accepted", (), _GAPS),
    Given("nothing, read uncommitted", (), _LOOSE),
    Given("the log only", (a.produce, a.begin)),
    Given("both halves", (a.produce, a.freeze, a.produce)),
    Given("an aborted transaction", (a.begin, a.abort, a.produce)),
    Given("an open transaction", (a.produce, a.freeze, a.begin, a.produce)),
    Given("read uncommitted", (a.produce, a.freeze, a.begin, a.produce), _LOOSE),
    Given("a freeze asleep", (a.produce, a.freeze, a.produce, a.stage)),
    Given("compacted", (a.produce, a.freeze, a.compact, a.produce)),
    Given("rolled back", (a.produce, a.freeze, a.produce, a.freeze, a.rollback)),
    Given("a branch ahead", (a.produce, a.freeze, a.produce, a.freeze_branch)),
    Given("two partitions", (a.produce, a.freeze, a.add_partition, a.produce_to_newest)),
    Given("gaps accepted", (a.produce, a.freeze, a.produce), _GAPS),
    Given("a gap, accepted", (a.produce, a.freeze, a.produce, a.retain_nothing, a.produce), _GAPS),
)
