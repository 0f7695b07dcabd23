"""What a format gives to be fuzzed: schemas, good records, decoders, and a reference to judge them.

A target makes rounds; a round has one schema, and everything in it is a function of
the random numbers it was made from. Nothing here decodes, or knows a format.
"""

from __future__ import annotations

import random
import re
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, Final, Protocol

import pyarrow as pa

from hotset.decode.decoded import Decoded

# How many of a round's records are decoded alone, too: they have to be what they are among others.
_ALONE: Final = 20


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reference says that a payload is not a record, and why."""

    reason: str


# What the reference says of one payload: the plain values of its columns, or a refusal.
Verdict = Sequence[Any] | Refusal


@dataclass(frozen=True, slots=True)
class Round:
    """One schema and all that is needed to judge decoders on it.

    Attributes:
        about: The schema, for whoever has to look into a difference.
        schema: The columns wanted.
        record: Makes one good payload.
        hurt: The format's own way to hurt one, beside those that know no format; None if there is none.
        paths: The decoders, by name; all of them have to agree with each other to the letter.
        reference: Says what one payload means, as `plain_rows` would show it.
        stricter: Where a decoder may refuse what the reference takes: a pattern of its reason, and the
            rule, in words. Nothing excuses a decoder that takes what the reference refuses, but `looser`.
        looser: The other way round, by a pattern of the reference's reason.
    """

    about: str
    schema: pa.Schema
    record: Callable[[random.Random], bytes]
    paths: Mapping[str, Callable[[pa.BinaryArray], Decoded]]
    reference: Callable[[bytes], Verdict]
    stricter: Mapping[str, str] = field(default_factory=dict)
    looser: Mapping[str, str] = field(default_factory=dict)
    hurt: Callable[[random.Random, bytes], bytes] | None = None


class Target(Protocol):
    """A format: a module of this folder with a function of this name, listed in `targets`."""

    def make_round(self, rng: random.Random) -> Round: ...


@dataclass(slots=True)
class Tally:
    """What was seen. `differences` and `crashes` must be empty in the end."""

    records: int = 0
    mutated: int = 0
    rows: int = 0
    faults: int = 0
    excused: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.records += other.records
        self.mutated += other.mutated
        self.rows += other.rows
        self.faults += other.faults
        self.excused.update(other.excused)
        self.differences += other.differences
        self.crashes += other.crashes


def judge(round_: Round, payloads: Sequence[bytes], good: Sequence[bool]) -> Tally:
    """Decode payloads on every path and hold each row against the reference.

    Args:
        round_: The schema and its judges.
        payloads: What to decode.
        good: Which of them are as `Round.record` made them; no rule excuses refusing one of those.
    """
    tally = Tally(records=len(payloads), mutated=len(payloads) - sum(good))
    found = {}
    for name, decode in round_.paths.items():
        try:
            found[name] = _outcomes(decode(_packed(payloads)), len(payloads))
            few = payloads[:_ALONE]
            found[f"{name}, alone"] = [_outcomes(decode(_packed([each])), 1)[0] for each in few]
        except Exception as exc:  # noqa: BLE001 - whatever a decoder raises for a payload is a crash
            tally.crashes.append(f"path {name} raised {exc!r}\n  {round_.about}")
    if tally.crashes:
        return tally
    for row, payload in enumerate(payloads):
        told = {name: outcomes[row] for name, outcomes in found.items() if row < len(outcomes)}
        outcome = next(iter(told.values()))
        tally.faults += isinstance(outcome, Refusal)
        tally.rows += not isinstance(outcome, Refusal)
        verdict = round_.reference(payload)
        wrong = _difference(round_, told, verdict, tally)
        if good[row] and isinstance(outcome, Refusal) and not isinstance(verdict, Refusal):
            wrong = "a good record is refused"
        if wrong:
            shown = f"  payload {payload.hex()}\n  paths {told}\n  reference {verdict}\n  {round_.about}"
            tally.differences.append(f"{wrong}\n{shown}")
    return tally


def _packed(payloads: Sequence[bytes]) -> pa.BinaryArray:
    # With not a byte behind the last one, so that a sanitizer sees who reads too far (`make sanitize`).
    ends = array("i", accumulate(map(len, payloads), initial=0))[:]
    data = array("B", b"".join(payloads))[:]
    return pa.Array.from_buffers(pa.binary(), len(payloads), [None, pa.py_buffer(ends), pa.py_buffer(data)])


def _difference(round_: Round, told: Mapping[str, Verdict], verdict: Verdict, tally: Tally) -> str | None:
    outcome = next(iter(told.values()))
    if any(other != outcome for other in told.values()):
        return "the paths differ"
    if isinstance(outcome, Refusal) == isinstance(verdict, Refusal):
        return None if isinstance(outcome, Refusal) or outcome == verdict else "the rows differ"
    if isinstance(outcome, Refusal):
        rules, reason, wrong = round_.stricter, outcome.reason, "only the decoder refuses"
    else:
        assert isinstance(verdict, Refusal)
        rules, reason, wrong = round_.looser, verdict.reason, "only the reference refuses"
    for pattern, rule in rules.items():
        if re.search(pattern, reason):
            tally.excused[rule] += 1
            return None
    return wrong


def _outcomes(decoded: Decoded, count: int) -> list[Verdict]:
    rows = decoded.rows
    rows.validate(full=True)
    assert rows.num_rows == count, "there is one row per payload"
    outcomes: list[Verdict] = list(plain_rows(rows))
    places = [fault.row for fault in decoded.faults]
    assert places == sorted(set(places)), "faults are in order, and at most one of each row"
    for fault in decoded.faults:
        assert all(value is None for value in outcomes[fault.row]), "a fault's row is null"
        outcomes[fault.row] = Refusal(fault.reason)
    return outcomes


def plain_rows(rows: pa.RecordBatch) -> list[list[Any]]:
    """Rows as values that compare exactly: times as whole numbers, floats by `plain_float`."""
    columns = [[_plain(value) for value in _numbers(column).to_pylist()] for column in rows.columns]
    return (
        [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in range(rows.num_rows)]
    )


def plain_float(value: float) -> str:
    """A float that equals itself if it is NaN, and -0.0 that is not 0.0."""
    return "nan" if value != value else value.hex()


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return plain_float(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return {name: _plain(item) for name, item in value.items()} if isinstance(value, dict) else value


def _numbers(column: pa.Array) -> pa.Array:
    return column.cast(_number_type(column.type))


def _number_type(found: pa.DataType) -> pa.DataType:
    # Python's own dates and times end before Arrow's do.
    types = pa.types
    if types.is_date32(found) or types.is_time32(found):
        return pa.int32()
    if types.is_timestamp(found) or types.is_time64(found):
        return pa.int64()
    if found == pa.uuid():
        return pa.binary(16)
    if types.is_struct(found):
        # A field that is never null may have no value inside of a null.
        parts = [child.with_type(_number_type(child.type)) for child in found]
        return pa.struct([part.with_nullable(nullable=True) for part in parts])
    if types.is_list(found):
        return pa.list_(found.value_field.with_type(_number_type(found.value_type)))
    if types.is_map(found):
        item = found.item_field.with_type(_number_type(found.item_type))
        return pa.map_(_number_type(found.key_type), item)
    return found
