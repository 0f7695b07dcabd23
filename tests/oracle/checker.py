"""The judge: is an answer correct, a declared error, or wrong?

An answer is correct if it is exactly the records that were visible below the ends its receipt names, each
once, and if those ends lie past everything promised before the question was asked. It is wrong, too, if it
claims more than it knows: where a reader must take something for granted, its receipt names it, and is no
surer than that. An answer that names what did not hold may have other rows, and is counted apart. What is
wrong is explained in words. Nothing here looks at how an answer was made: no way in can excuse itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import pyarrow as pa

from foundation.errors import KafkaIcebergError
from tests.oracle.journal import Entry, Identity, Journal, Mark

IDENTITY = Identity._fields
# What was assumed, and has been held against records and fits.
_FITTING = {"record_times"}
_SUREST_FIRST = ("exact", "proven", "estimated")


class Verdict(StrEnum):
    CORRECT = "correct"
    ASSUMED = "said why not"
    DECLARED = "declared error"
    WRONG = "wrong"


class Fault(StrEnum):
    LOST = "lost"
    DUPLICATED = "duplicated"
    INVENTED = "invented"
    STALE = "stale"
    TORN = "torn"
    MISCOUNTED = "miscounted"
    UNREPEATABLE = "unrepeatable"
    OVERCLAIMED = "overclaimed"
    UNDECLARED = "undeclared"


@dataclass(frozen=True)
class Observed:
    """An answer as its reader got it.

    `ends` and `confidence` are None where a way in shows no receipt; `copies` is how often the statement asks
    for each row.
    """

    rows: pa.Table
    ends: Mapping[int, int] | None = None
    held_back: Mapping[int, int] = field(default_factory=dict)
    gaps: tuple[tuple[int, int, int], ...] = ()
    cut: str | None = None
    rows_hot: int | None = None
    rows_cold: int | None = None
    copies: int = 1
    confidence: str | None = None
    assumed: frozenset[str] = frozenset()


class DeclaredError(Exception):
    """An error that a way in without exceptions of ours has declared in its own form."""


class Asked(NamedTuple):
    """One question: when it was asked, how, and what came of it."""

    mark: Mark
    way: str
    outcome: Observed | Exception


class Score(NamedTuple):
    """The verdict on one answer; faults are explained."""

    asked: Asked
    verdict: Verdict
    faults: tuple[tuple[Fault, str], ...] = ()

    @property
    def kinds(self) -> set[Fault]:
        return {fault for fault, _ in self.faults}

    def __str__(self) -> str:
        if self.verdict is Verdict.DECLARED:
            return f"{self.asked.way}: {self.verdict}: {self.asked.outcome!r}"
        told = "; ".join(f"{fault}: {text}" for fault, text in self.faults)
        return f"{self.asked.way}: {self.verdict} {told}"


class Oracle:
    """Asks questions about one topic's records and judges the answers.

    `unknowable` names what nobody can know from the table and the log: an answer must say that it assumed
    one of these.
    """

    def __init__(self, journal: Journal, unknowable: frozenset[str] = frozenset()) -> None:
        self.journal = journal
        self.unknowable = unknowable
        self._rows_of_cut: dict[str, dict[Identity, float]] = {}

    def ask(self, way: str, question: Callable[[], Observed]) -> Asked:
        """Ask, and keep the answer for judgement once all outcomes are known."""
        mark = self.journal.mark()
        try:
            return Asked(mark, way, question())
        except Exception as exc:  # noqa: BLE001 - judged later, and wrong unless it is declared
            return Asked(mark, way, exc)

    def judge(self, asked: Asked) -> Score:
        if isinstance(asked.outcome, Exception):
            if isinstance(asked.outcome, (KafkaIcebergError, DeclaredError)):
                return Score(asked, Verdict.DECLARED)
            return Score(asked, Verdict.WRONG, ((Fault.UNDECLARED, repr(asked.outcome)),))
        seen = asked.outcome
        claims = tuple(self._claims(seen))
        faults = tuple(self._faults(asked.mark, seen))
        if claims or (faults and not seen.assumed & self.unknowable):
            return Score(asked, Verdict.WRONG, (*claims, *faults))
        return Score(asked, Verdict.ASSUMED if faults else Verdict.CORRECT, faults)

    def score(self, way: str, question: Callable[[], Observed]) -> Score:
        """Ask and judge at once; for when nothing is being sent."""
        return self.judge(self.ask(way, question))

    def _claims(self, seen: Observed) -> Iterable[tuple[Fault, str]]:
        if seen.confidence is None:
            return
        # The words are repeated here, so that a mistake in them is seen.
        most = "exact" if not seen.assumed else "proven" if seen.assumed <= _FITTING else "estimated"
        said = f"{seen.confidence}, and assumed {sorted(seen.assumed)}"
        if _SUREST_FIRST.index(seen.confidence) < _SUREST_FIRST.index(most):
            yield Fault.OVERCLAIMED, said
        if self.unknowable and not seen.assumed & self.unknowable:
            yield Fault.OVERCLAIMED, f"{said}, where nobody knows {sorted(self.unknowable)}"

    def _faults(self, mark: Mark, seen: Observed) -> Iterable[tuple[Fault, str]]:
        counts = Counter(Identity(*row) for row in zip(*_columns(seen.rows), strict=True))
        ends = self._ends_shown_by(counts) if seen.ends is None else seen.ends
        expected, possible = self._expected(ends, seen.gaps)
        if lost := [e for i, e in expected.items() if i not in counts]:
            yield Fault.LOST, self._listed(lost)
        if extra := [i for i in counts if i not in expected and i not in possible]:
            yield Fault.INVENTED, self._explained(extra, ends)
        if twice := [i for i, count in counts.items() if count > seen.copies]:
            yield Fault.DUPLICATED, self._explained(twice, ends)
        if torn := [i for i, count in counts.items() if count < seen.copies]:
            yield Fault.TORN, self._explained(torn, ends)
        for partition, promised in mark.promised.items():
            if ends.get(partition, 0) < promised and not self._is_held_back(seen, ends, partition):
                said = f"partition {partition} ends at {ends.get(partition)}, {promised} was promised"
                yield Fault.STALE, said
        if seen.rows_hot is not None and seen.rows_cold is not None:
            counted = (seen.rows_hot + seen.rows_cold) * seen.copies
            if counted != seen.rows.num_rows:
                yield Fault.MISCOUNTED, f"{seen.rows.num_rows} rows, and the receipt says {counted}"
        once = {identity: count / seen.copies for identity, count in counts.items()}
        if seen.cut is not None and self._rows_of_cut.setdefault(seen.cut, once) != once:
            yield Fault.UNREPEATABLE, f"another answer at cut {seen.cut} had other rows"

    def _expected(
        self, ends: Mapping[int, int], gaps: tuple[tuple[int, int, int], ...]
    ) -> tuple[dict[Identity, Entry], set[Identity]]:
        expected, possible = {}, set()
        for identity, entry in list(self.journal.entries.items()):
            visible = self.journal.is_visible(entry)
            if visible is None:
                possible.add(identity)
            elif visible and entry.offset < ends.get(entry.partition, 0) and not _is_in(entry, gaps):
                expected[identity] = entry
        return expected, possible

    def _ends_shown_by(self, counts: Iterable[Identity]) -> dict[int, int]:
        # Without a receipt, an answer must at least be whole up to the last record it shows.
        ends: dict[int, int] = {}
        for identity in counts:
            entry = self.journal.entries.get(identity)
            if entry is not None:
                ends[entry.partition] = max(ends.get(entry.partition, 0), entry.offset + 1)
        return ends

    def _is_held_back(self, seen: Observed, ends: Mapping[int, int], partition: int) -> bool:
        # Excused only if said, and if true: the last stable offset is where a transaction begins.
        if seen.ends is not None:
            end = seen.ends.get(partition, 0)
            return seen.held_back.get(partition, 0) > 0 and self.journal.begins_txn(partition, end)
        # Without a receipt nothing can be said; then what is missing must begin with a transaction.
        missing = self.journal.visible_from(partition, ends.get(partition, 0))
        first = min(missing, key=lambda e: e.offset, default=None)
        return first is not None and (
            first.identity.txn is not None or self.journal.is_behind_open_txn(first)
        )

    def _listed(self, entries: list[Entry]) -> str:
        places = ", ".join(
            f"{e.identity.producer}#{e.identity.seq}@{e.partition}:{e.offset}" for e in entries[:5]
        )
        return f"{len(entries)} records: {places}"

    def _explained(self, identities: list[Identity], ends: Mapping[int, int]) -> str:
        return f"{len(identities)} records: " + ", ".join(self._explain(i, ends) for i in identities[:5])

    def _explain(self, identity: Identity, ends: Mapping[int, int]) -> str:
        entry = self.journal.entries.get(identity)
        if entry is None:
            return f"{identity} was never sent"
        txn = f", txn {self.journal.txns[identity.txn]}" if identity.txn else ""
        return f"{_place(entry)} ({entry.outcome}{txn}, cut at {ends.get(entry.partition)})"


def _columns(rows: pa.Table) -> list[list[object]]:
    return [rows.column(name).to_pylist() for name in IDENTITY]


def _place(entry: Entry) -> str:
    return f"{entry.identity.producer}#{entry.identity.seq}@{entry.partition}:{entry.offset}"


def _is_in(entry: Entry, ranges: tuple[tuple[int, int, int], ...]) -> bool:
    return any(p == entry.partition and start <= entry.offset < end for p, start, end in ranges)
