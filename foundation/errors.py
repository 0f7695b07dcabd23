"""The root of every error that this project raises on purpose.

Callers decide what to do from the class attributes, never from the message. Each package has a tree of
its own below this class, so `except KafkaIcebergError` catches whatever any of them declares. What can
happen to every package is here, too.
"""

from __future__ import annotations

from typing import ClassVar, Literal

Kind = Literal["user", "external", "internal"]


class KafkaIcebergError(Exception):
    """Anything that kept an exact answer from being given, or a job from being done.

    Attributes:
        code: What failed, in stable words (`OFFSET_GAP`); unique, and listed in ERRORS.md.
        kind: Who can mend it: the `user`, something `external`, or nobody but us (`internal`).
        retriable: Whether the same call may succeed later.
        details: The values that the message names, for programs.
    """

    code: ClassVar[str] = "KAFKAICEBERG_ERROR"
    kind: ClassVar[Kind] = "internal"
    retriable: ClassVar[bool] = False

    def __init__(self, message: str, **details: object) -> None:
        super().__init__(message)
        self.details = details


class ExtraMissingError(KafkaIcebergError, ImportError):
    """What was asked for needs an extra of the package that is not installed."""

    code = "EXTRA_MISSING"
    kind = "user"
