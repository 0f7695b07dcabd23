"""What an examination finds, as values: findings, what could not be checked, and the report.

What each finding means and what to do about it is in `catalogue`. Printing and
exit codes are the command line's business. It performs no input or output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from federation.doctor.catalogue import kind_of


class Severity(IntEnum):
    """How bad a finding is. Worse ones are larger."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    @property
    def word(self) -> str:
        """The name in small letters, as people and programs read it."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Finding:
    """Something an examination found.

    Attributes:
        code: Stable; one of the catalogue's.
        severity: How bad it is here.
        message: What was found, in one sentence with its numbers.
        facts: The same numbers, for programs; JSON values only.
    """

    code: str
    severity: Severity
    message: str
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON values.

        Raises:
            KeyError: The code is not in the catalogue (a mistake of ours).
        """
        kind = kind_of(self.code)
        return {
            "code": self.code,
            "severity": self.severity.word,
            "message": self.message,
            "meaning": kind.meaning,
            "page": kind.page,
            "facts": dict(self.facts),
        }


@dataclass(frozen=True, slots=True)
class Unchecked:
    """Something that was not looked at, or not to its end.

    Attributes:
        codes: The findings that would have come from it.
        why: The reason, and what to do to have it checked.
        is_failure: True if it was tried and failed; False if the table or the
            limits of the examination leave nothing to try.
    """

    codes: tuple[str, ...]
    why: str
    is_failure: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"codes": list(self.codes), "why": self.why, "is_failure": self.is_failure}


@dataclass(frozen=True, slots=True)
class Report:
    """All that one examination of one table found; the worst findings come first.

    Attributes:
        table: The table.
        snapshot_id: The snapshot that was examined; None if the table has none.
        topic: Its topic; None for a plain table.
        examined_at_ms: When (epoch milliseconds, UTC).
        findings: What was found.
        unchecked: What was not looked at.
        silent: Codes that were looked for everywhere and not found.
    """

    table: str
    snapshot_id: int | None
    topic: str | None
    examined_at_ms: int
    findings: tuple[Finding, ...]
    unchecked: tuple[Unchecked, ...]
    silent: tuple[str, ...]

    @property
    def worst(self) -> Severity:
        """The worst there is; a check that was tried and failed counts as a warning."""
        failed = [Severity.WARNING] if any(one.is_failure for one in self.unchecked) else []
        return max([Severity.INFO, *failed, *(finding.severity for finding in self.findings)])

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "table": self.table,
            "snapshot_id": self.snapshot_id,
            "topic": self.topic,
            "examined_at_ms": self.examined_at_ms,
            "worst": self.worst.word,
            "findings": [finding.to_dict() for finding in self.findings],
            "unchecked": [one.to_dict() for one in self.unchecked],
            "silent": list(self.silent),
        }
