"""What runs until it is stopped, and is stopped when its `with` block ends.

Every service of the stack is such a thing. It must not know how one is stopped.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Stoppable:
    """Has a `stop` that may be called more than once."""

    def stop(self) -> object:
        """Stop it.

        Raises:
            NotImplementedError: The class does not say how.
        """
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Return the thing itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop it."""
        self.stop()
