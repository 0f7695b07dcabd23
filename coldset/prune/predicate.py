"""Conditions on columns, as plain values: what a reader asks for, and what need not be read.

A predicate is a promise of whoever gives it: rows for which it is not true are
not looked at, so they may come or not. What cannot be said here is said by no
predicate at all, which is always right and costs reading. There is no `not`:
who builds a predicate turns it inwards, where nulls make that exact. Columns
are those at the top of a table, by their names. The file knows no table.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Literal

Sign = Literal["=", "<", "<=", ">", ">="]
Literals = bool | int | float | str | bytes | Decimal | date | time | datetime


@dataclass(frozen=True, slots=True)
class Compared:
    """A column compared with a value; never true for null. NaN equals itself and is above all numbers."""

    column: str
    sign: Sign
    value: Literals


@dataclass(frozen=True, slots=True)
class IsNull:
    """A column that is null."""

    column: str


@dataclass(frozen=True, slots=True)
class NotNull:
    """A column that is not null."""

    column: str


@dataclass(frozen=True, slots=True)
class StartsWith:
    """A text that begins with another one."""

    column: str
    prefix: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of some predicates; at least one."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of some predicates; at least one."""

    parts: tuple[Predicate, ...]


Predicate = Compared | IsNull | NotNull | StartsWith | AllOf | AnyOf


def all_of(parts: list[Predicate | None]) -> Predicate | None:
    """Return what follows if all parts are true; parts that say nothing are left out."""
    said = tuple(dict.fromkeys(part for part in parts if part is not None))
    return said[0] if len(said) == 1 else AllOf(said) if said else None


def any_of(parts: list[Predicate | None]) -> Predicate | None:
    """Return what follows if one part is true, which is nothing if one of them says nothing."""
    said = tuple(dict.fromkeys(part for part in parts if part is not None))
    if not said or None in parts:
        return None
    return said[0] if len(said) == 1 else AnyOf(said)


def columns_of(predicate: Predicate) -> set[str]:
    """Return the columns that a predicate is about."""
    if isinstance(predicate, AllOf | AnyOf):
        return {column for part in predicate.parts for column in columns_of(part)}
    return {predicate.column}
