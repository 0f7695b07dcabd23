"""What a boundary takes for granted, by name, and how much may still be said of it then.

The list is closed, so that an answer can name what could make it wrong and a
program can tell one thing from another. How sure a boundary is follows from
what it rests on and from this list alone: nobody says `exact` of something
that was assumed. It performs no input or output.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final


class Confidence(StrEnum):
    """How sure a boundary is, surest first."""

    EXACT = "exact"
    PROVEN = "proven"
    ESTIMATED = "estimated"


class Basis(StrEnum):
    """What a boundary rests on: the writer's own record of the snapshot, or the rows of the table."""

    RECORD = "record"
    ROWS = "rows"


class Assumption(StrEnum):
    """Something that was taken for granted and would make an answer wrong if it were not so."""

    RECORD_TIMES = "record_times"
    SAME_TOPIC = "same_topic"
    OFFSETS_WITHOUT_ROWS = "offsets_without_rows"
    REPEATED_ROWS = "repeated_rows"
    UNMARKED_ROWS = "unmarked_rows"
    FORGOTTEN_DELETES = "forgotten_deletes"
    WRITER_ISOLATION = "writer_isolation"
    ONE_TO_ONE = "one_to_one"
    DECLARED = "declared"
    APPEND_ONLY = "append_only"
    CREATE_TIMES = "create_times"
    TRANSACTIONS_THEN = "transactions_then"

    @property
    def meaning(self) -> str:
        """One sentence for people."""
        return _MEANINGS[self]

    @property
    def allows(self) -> Confidence:
        """The most that may be said of a boundary that assumes it.

        `proven` if what was assumed has been held against records and fits, `estimated` if nothing
        shows it.
        """
        return Confidence.PROVEN if self is Assumption.RECORD_TIMES else Confidence.ESTIMATED


_MEANINGS: Final[Mapping[Assumption, str]] = {
    Assumption.RECORD_TIMES: "The topic is taken for the one that filled the table because Kafka's records "
    "below the boundary are older than the commit; the clocks of producers and of the committer are "
    "believed.",
    Assumption.SAME_TOPIC: "Nothing shows that the topic is the one that filled the table; one that was "
    "deleted and made anew would not be noticed.",
    Assumption.OFFSETS_WITHOUT_ROWS: "Offsets below the boundary have no row, and nothing shows that no "
    "record of them is missing.",
    Assumption.REPEATED_ROWS: "Rows of the table repeat a record; the answer has them as the table has them.",
    Assumption.UNMARKED_ROWS: "Commits without a writer's mark added rows; these are taken for no record "
    "that the writer or Kafka brings as well.",
    Assumption.FORGOTTEN_DELETES: "Older commits have been expired; they are taken to have deleted no rows "
    "from the newest end, which would come back from Kafka.",
    Assumption.WRITER_ISOLATION: "Nothing states whether the table's writer reads uncommitted records, and "
    "the topic may have transactions; records of aborted ones may be in the answer.",
    Assumption.ONE_TO_ONE: "The writer also reads other topics and fills other tables; every record of this "
    "topic is taken to go into this table.",
    Assumption.DECLARED: "What the table holds was declared by a person, or by a program that is believed.",
    Assumption.APPEND_ONLY: "The table looks as if it had the latest row of each key; merge=append says "
    "that rows are only added.",
    Assumption.CREATE_TIMES: "Producers set the times of records: what arrived by the time of `as-of` is "
    "taken to be all before the first record of a later time.",
    Assumption.TRANSACTIONS_THEN: "Transactions may have been open at the time of `as-of`; those that have "
    "been committed since are taken to have been committed then.",
}
_BASES: Final = {Basis.RECORD: Confidence.EXACT, Basis.ROWS: Confidence.PROVEN}
_SUREST_FIRST: Final = tuple(Confidence)


def confidence_of(basis: Basis, assumed: Iterable[Assumption]) -> Confidence:
    """Return how sure a boundary is: no surer than what it rests on, nor than anything it assumes."""
    allowed = [_BASES[basis], *(each.allows for each in assumed)]
    return max(allowed, key=_SUREST_FIRST.index)


def in_order(assumed: Iterable[Assumption]) -> tuple[Assumption, ...]:
    """Return the assumptions once each, in the order of the list."""
    given = set(assumed)
    return tuple(each for each in Assumption if each in given)
