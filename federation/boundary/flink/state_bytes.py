"""Java's plain data format, read with suspicion.

Flink writes its checkpoints with `DataOutputStream`: big-endian numbers and short
strings. A reader that trusts a length or a count in a damaged file takes the wrong
bytes for an offset, or all memory. It must not know what the bytes mean.
"""

from __future__ import annotations

import struct


class MalformedStateError(ValueError):
    """The bytes are not what this release knows how to read."""


class StateBytes:
    """A position in bytes that never leaves them: every read is checked against what is left."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self._content) - self._at

    def take(self, count: int) -> bytes:
        """Return the next bytes.

        Raises:
            MalformedStateError: There are fewer.
        """
        start = self._at
        self.skip(count)
        return self._content[start : self._at]

    def skip(self, count: int) -> None:
        """Pass bytes over.

        Raises:
            MalformedStateError: There are fewer, or the count is negative.
        """
        if not 0 <= count <= self.left:
            raise MalformedStateError(
                f"{count} bytes are announced at byte {self._at}, and {self.left} follow"
            )
        self._at += count

    def byte(self) -> int:
        """Return an unsigned byte."""
        return self.take(1)[0]

    def flag(self) -> bool:
        """Return a boolean.

        Raises:
            MalformedStateError: It is neither 0 nor 1.
        """
        found = self.byte()
        if found > 1:
            raise MalformedStateError(f"byte {self._at - 1} is {found}, and no boolean")
        return found == 1

    def int32(self) -> int:
        """Return a signed number of four bytes."""
        return int(struct.unpack(">i", self.take(4))[0])

    def int64(self) -> int:
        """Return a signed number of eight bytes."""
        return int(struct.unpack(">q", self.take(8))[0])

    def count(self) -> int:
        """Return how many things follow; each takes a byte at least.

        Raises:
            MalformedStateError: So many do not fit into what is left.
        """
        found = self.int32()
        if not 0 <= found <= self.left:
            raise MalformedStateError(f"{found} entries are announced at byte {self._at - 4}")
        return found

    def longs(self) -> tuple[int, ...]:
        """Return a counted list of numbers of eight bytes."""
        count = self.count()
        return struct.unpack(f">{count}q", self.take(8 * count))

    def text(self) -> str:
        """Return a short string. What is not plain UTF-8 comes back changed, so it equals nothing."""
        length = struct.unpack(">H", self.take(2))[0]
        return self.take(length).decode("utf-8", "replace")

    def block(self) -> bytes:
        """Return bytes that their length stands before."""
        return self.take(self.int32())

    def end(self, what: str) -> None:
        """Require that nothing is left.

        Raises:
            MalformedStateError: Something is.
        """
        if self.left:
            raise MalformedStateError(f"{self.left} bytes follow the end of {what}")
