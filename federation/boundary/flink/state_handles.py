"""State handles of Flink's `_metadata`: where a piece of state is, of whatever kind it is.

Only places of list state are kept. Keyed state and channels lead to no position of a
source, and must still be walked over, since nothing in the file says how long they
are. It must not know operators.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from federation.boundary.flink.state_bytes import MalformedStateError, StateBytes

_DEPTH: Final = 8


@dataclass(frozen=True, slots=True)
class StatePlace:
    """Where a piece of state is: in `_metadata` itself, or in a file.

    Attributes:
        inline: The state's bytes, if they are in `_metadata`.
        path: Else the file, as Flink recorded it.
        is_relative: Whether the path counts from the folder of `_metadata`.
        start: First byte in the file.
        size_bytes: How many bytes.
    """

    inline: bytes | None = None
    path: str = ""
    is_relative: bool = False
    start: int = 0
    size_bytes: int = 0


def read_place(source: StateBytes, *, is_kept: bool = False, depth: int = 0) -> StatePlace | None:
    """Read a handle; the state's bytes themselves only if they are to be kept.

    Raises:
        MalformedStateError: It is of a kind that is not known.
    """
    kind = source.byte()
    if kind == 0:
        return None
    if kind == 1:
        source.text()
        size = source.int32()
        if is_kept:
            return StatePlace(inline=source.take(size))
        source.skip(size)
        return StatePlace()
    if kind == 2:
        size = source.int64()
        return StatePlace(path=source.text(), size_bytes=size)
    if kind == 6:
        path = source.text()
        return StatePlace(path=path, is_relative=True, size_bytes=source.int64())
    if kind == 15:
        start, size = source.int64(), source.int64()
        source.skip(4)  # whether the file is shared
        path = source.text()
        source.text()  # the segment's own name
        return StatePlace(path=path, start=start, size_bytes=size)
    if kind == 16:
        return StatePlace(inline=b"")
    if kind == 3 and depth < _DEPTH:
        source.skip(4)
        source.longs()
        return read_place(source, is_kept=is_kept, depth=depth + 1)
    raise MalformedStateError(f"kind {kind} of state handle is not known")


def skip_keyed(source: StateBytes, depth: int = 0) -> None:
    """Walk over a handle of keyed state.

    Raises:
        MalformedStateError: It is of a kind that is not known.
    """
    kind = source.byte()
    if kind == 0:
        return
    if depth > _DEPTH or kind not in _KEYED:
        raise MalformedStateError(f"kind {kind} of keyed state is not known")
    _KEYED[kind](source, kind, depth)


def _key_groups(source: StateBytes, kind: int, depth: int) -> None:
    source.skip(4)
    source.longs()
    read_place(source)
    if kind == 12:
        source.text()


def _incremental(source: StateBytes, kind: int, depth: int) -> None:
    source.skip(8)
    source.text()
    source.skip(16 if kind == 11 else 8)
    read_place(source)
    for _ in ("shared", "private"):
        for _ in range(source.count()):
            source.text()
            read_place(source)
    if kind == 11:
        source.text()


def _changelog(source: StateBytes, kind: int, depth: int) -> None:
    source.skip(16)
    for _ in ("materialised", "changes"):
        for _ in range(source.count()):
            skip_keyed(source, depth + 1)
    source.skip(16 if kind == 14 else 8)
    source.text()


def _changes_inline(source: StateBytes, kind: int, depth: int) -> None:
    source.skip(24)
    for _ in range(source.count()):
        source.skip(4)
        source.skip(source.int32())
    source.text()


def _changes_in_files(source: StateBytes, kind: int, depth: int) -> None:
    source.skip(8)
    for _ in range(source.count()):
        source.skip(8)
        read_place(source)
    source.skip(16)
    source.text()
    if kind == 13:
        source.text()


_KEYED: Final[dict[int, Callable[[StateBytes, int, int], None]]] = {
    3: _key_groups,
    7: _key_groups,
    12: _key_groups,
    5: _incremental,
    11: _incremental,
    8: _changelog,
    14: _changelog,
    9: _changes_inline,
    10: _changes_in_files,
    13: _changes_in_files,
}


def skip_channel(source: StateBytes, version: int) -> None:
    """Walk over a handle of records on their way between two operators.

    Raises:
        MalformedStateError: It is of a kind that is not known.
    """
    kind = source.byte() if version >= 6 else 1
    if kind not in (1, 2, 3, 4):
        raise MalformedStateError(f"kind {kind} of channel state is not known")
    source.skip(4)
    if kind in (1, 2):
        source.skip(8)
        source.longs()
    source.skip(8)
    read_place(source)
    if kind in (3, 4):
        source.block()
