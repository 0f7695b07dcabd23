"""One table with everything that happens to it, and the oracle that judges what is said of it.

Scenarios differ in what happens, not in how they ask: each asks through the library and the SQL engine
and expects every answer to be correct, or every answer to be one declared error. All verdicts are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from tests.builders import Lake, commit_until, make_table, unique
from tests.oracle import engines, ways
from tests.oracle.checker import DeclaredError, Observed, Oracle, Score, Verdict
from tests.oracle.journal import Journal, Sender

Way = Callable[[Lake], Observed]

WAYS: Mapping[str, Way] = {
    "library": ways.library,
    "engine": ways.engine,
    "engine, self-union": ways.engine_twice,
    "engine, hot store": ways.resident,
    "engine, hot store again": ways.resident,
    "catalog": engines.catalog,
}

# Verdicts of a whole run, without those on planted bugs.
TALLY: Counter[str] = Counter()


class World:
    """A lake, the journal of its topic, and an oracle over both."""

    def __init__(
        self, lake: Lake, journal: Journal | None = None, unknowable: Iterable[str] = frozenset()
    ) -> None:
        self.lake = lake
        self.journal = journal or Journal()
        self.oracle = Oracle(self.journal, frozenset(unknowable))
        self._plain: Sender | None = None

    def sender(self, name: str, *, transactional: bool = False, **producer: str) -> Sender:
        return Sender(self.lake, self.journal, name, transactional=transactional, **producer)

    def fill(self, count: int, partition: int = 0) -> None:
        """Send records that are nobody's transaction."""
        if self._plain is None:
            self._plain = self.sender(self.journal.new_name("plain"))
        self._plain.send(count, partition)

    def freeze(self, ends: Mapping[int, int] | None = None) -> int:
        return commit_until(self.lake, ends)

    def with_new_table(self) -> World:
        """The same topic and journal, and an empty table beside this one."""
        lake = replace(self.lake, table=f"lake.{unique('events')}")
        make_table(lake.catalog, lake.table, self.lake.load().schema().as_arrow())
        return World(lake, self.journal)

    def having(self, **options: str) -> World:
        """The same world with other read options."""
        return World(self.lake.having(**options), self.journal, self.oracle.unknowable)

    def doubting(self, *unknowable: str) -> World:
        """The same world, where an answer must say that it assumed one of these."""
        return World(self.lake, self.journal, unknowable)

    def score(self, chosen: Mapping[str, Way] = WAYS) -> list[Score]:
        scores = [self.oracle.score(way, lambda ask=ask: ask(self.lake)) for way, ask in chosen.items()]
        TALLY.update(score.verdict.value for score in scores)
        return scores

    def expect_correct(self, chosen: Mapping[str, Way] = WAYS) -> Observed:
        """Ask every way; all must be correct. Return the first one's answer."""
        scores = self.score(chosen)
        assert [s.verdict for s in scores] == [Verdict.CORRECT] * len(scores), "\n".join(map(str, scores))
        seen = scores[0].asked.outcome
        assert isinstance(seen, Observed)
        return seen

    def expect_error(self, kind: type[Exception], chosen: Mapping[str, Way] = WAYS) -> Exception:
        """Ask every way; all must declare this error. Return the first one's."""
        scores = self.score(chosen)
        for score in scores:
            assert score.verdict is Verdict.DECLARED, str(score)
            # An engine of others has no exceptions of ours.
            assert isinstance(score.asked.outcome, (kind, DeclaredError)), str(score)
        found = scores[0].asked.outcome
        assert isinstance(found, Exception)
        return found
