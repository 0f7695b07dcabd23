"""Tables of which a reader cannot know everything: it is right, says what it assumed, or refuses."""

from __future__ import annotations

from tests.oracle import doubtful
from tests.oracle.checker import Verdict
from tests.oracle.doubtful import Doubtful
from tests.oracle.faults.round import Round


def a1_two_topics(round_: Round) -> None:
    """A writer that fills the table from a second topic as well."""
    _refused(round_, doubtful.two_topics)


def a2_made_anew(round_: Round) -> None:
    """A topic made anew and longer than the table, where the writer's record does not say which it read."""
    _asked(round_, doubtful.made_anew)
    _refused(round_, doubtful.made_anew_later)


def a3_strange_records(round_: Round) -> None:
    """Records that share no field with the table: another topic's, or in an envelope nobody has named."""
    _refused(round_, doubtful.strange_records)


def a4_losses(round_: Round) -> None:
    """Records that the writer left out, before and after the commit that shows it is forgotten."""
    _asked(round_, doubtful.left_out)
    _asked(round_, doubtful.loss_forgotten)


def a5_isolation_unstated(round_: Round) -> None:
    """Aborted records in the table and in the log, where nobody has said how the writer reads."""
    _asked(round_, doubtful.aborted_rows)
    _asked(round_, doubtful.aborted_hot)


def a6_upserts(round_: Round) -> None:
    """A table that has the latest row of each key, refused until somebody says that rows are only added."""
    _refused(round_, doubtful.upserted)
    made = doubtful.upserted(round_.bare_world(), round_.rng)
    round_.inject()
    round_.ask(made.having(merge="append").doubting("append_only"), compares=False)


def _asked(round_: Round, made: Doubtful) -> None:
    here = made(round_.bare_world(), round_.rng)
    round_.inject()
    round_.ask(here, compares=False)


def _refused(round_: Round, made: Doubtful) -> None:
    here = made(round_.bare_world(), round_.rng)
    round_.inject()
    round_.expect(here, Verdict.DECLARED, round_.ways(here))
