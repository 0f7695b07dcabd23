"""Flink's `_metadata`: which operators a checkpoint or savepoint holds, and where their state is.

The file is Flink's own directory of a checkpoint; this reads versions 2 to 6 of it
(Flink 1.3 to 2.1) and keeps only what leads to the positions of sources. Everything
else must still be walked over, since nothing in the file says how long it is. It
must not know Kafka, nor open a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from federation.boundary.flink_bytes import MalformedStateError, StateBytes

SOURCE_STATE: Final = "SourceReaderState"
_MAGIC: Final = 0x4960672D
_MASTER_MAGIC: Final = -915728746
_SERIAL_MAGIC: Final = b"\xac\xed\x00\x05"
_VERSIONS: Final = (2, 3, 4, 5, 6)
_DEPTH: Final = 8
_UNREAD: Final = -1


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


@dataclass(frozen=True, slots=True)
class SourceState:
    """What one subtask of a source has written: where each list element begins, and where it is."""

    elements: tuple[int, ...]
    place: StatePlace


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a checkpoint.

    Attributes:
        operator_id: Its id, as 32 hexadecimal digits.
        coordinator: State of its coordinator; None if it has none.
        sources: States of its subtasks that are named as sources name theirs.
        state_names: Names of all list states of its subtasks.
        has_finished: Whether subtasks had ended, and left no state.
        has_records_on_their_way: Whether records between operators are kept in it, as
            an unaligned checkpoint does; those are read and not yet written.
    """

    operator_id: str
    coordinator: bytes | None
    sources: tuple[SourceState, ...]
    state_names: frozenset[str]
    has_finished: bool
    has_records_on_their_way: bool


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a `_metadata` file says: the number of the checkpoint, and its operators."""

    checkpoint_id: int
    operators: tuple[Operator, ...]


def parse_metadata(content: bytes) -> Metadata:
    """Read a `_metadata` file.

    Raises:
        MalformedStateError: It is cut short, damaged, or of a version that is not known.
    """
    source = StateBytes(content)
    if source.int32() != _MAGIC:
        raise MalformedStateError("it does not begin as Flink's metadata does")
    version = source.int32()
    if version not in _VERSIONS:
        raise MalformedStateError(f"its format is version {version}, and {_VERSIONS} are known")
    checkpoint_id = source.int64()
    if checkpoint_id < 0:
        raise MalformedStateError(f"{checkpoint_id} is no checkpoint id")
    for _ in range(source.count()):
        if source.int32() != _MASTER_MAGIC:
            raise MalformedStateError("a master state does not begin as one")
        source.block()
    operators = tuple(_operator(source, version) for _ in range(source.count()))
    if version >= 4 and source.take(4) != _SERIAL_MAGIC:  # Java's own serialisation; nothing of it is needed
        raise MalformedStateError("its properties do not begin as they do")
    if version < 4:
        source.end("the last operator")
    return Metadata(checkpoint_id, operators)


def _operator(source: StateBytes, version: int) -> Operator:
    if version >= 5:
        source.text(), source.text()  # the operator's name, and the user's id of it
    operator_id = source.take(16).hex()
    source.skip(8)  # parallelism, and the largest it may become
    coordinator = None
    if version == 2:
        source.skip(4)
    else:
        place = _stream(source, is_kept=True)
        if place is not None and place.inline is None:
            raise MalformedStateError(f"the coordinator of operator {operator_id} has its state elsewhere")
        coordinator = None if place is None else place.inline
    subtasks = source.int32()
    if subtasks < -1 or subtasks > source.left:
        raise MalformedStateError(f"operator {operator_id} has {subtasks} subtasks")
    found: list[SourceState] = []
    names: set[str] = set()
    has_finished, is_waiting = subtasks == -1, False
    for _ in range(max(subtasks, 0)):
        if source.int32() < 0:
            has_finished = True  # its number is written below zero, and nothing follows
        else:
            is_waiting |= _subtask(source, version, found, names)
    return Operator(operator_id, coordinator, tuple(found), frozenset(names), has_finished, is_waiting)


def _subtask(source: StateBytes, version: int, found: list[SourceState], names: set[str]) -> bool:
    if version == 2:
        source.skip(8)
        if source.int32() > 0:
            raise MalformedStateError("there is state of Flink 1.1 in it")
    for _ in ("managed", "raw"):
        has_state = source.int32()
        if has_state not in (0, 1):
            raise MalformedStateError(f"a subtask has {has_state} states of one kind")
        if has_state:
            _operator_state(source, found, names)
    for _ in ("managed", "raw"):
        _keyed(source, 0)
    channels = 0
    for _ in ("input", "output") if version >= 3 else ():
        count = source.count()
        for _ in range(count):
            _channel(source, version)
        channels += count
    return channels > 0


def _operator_state(source: StateBytes, found: list[SourceState], names: set[str]) -> None:
    kind = source.byte()
    if kind == 0:
        return
    if kind not in (4, 17):
        raise MalformedStateError(f"kind {kind} of operator state is not known")
    elements: tuple[int, ...] | None = None
    for _ in range(source.count()):
        name, mode, offsets = source.text(), source.byte(), source.longs()
        names.add(name)
        if name == SOURCE_STATE:
            if mode != 0:
                raise MalformedStateError(f"state {name} is distributed in mode {mode}")
            elements = offsets
    is_empty = False
    if kind == 17:
        source.text(), source.text()  # folders that Flink owns
        is_empty = source.flag()
    place = _stream(source, is_kept=elements is not None)
    if elements and not is_empty:
        if place is None:
            raise MalformedStateError(f"state {SOURCE_STATE} has elements and no place")
        found.append(SourceState(elements, place))


def _stream(source: StateBytes, *, is_kept: bool = False, depth: int = 0) -> StatePlace | None:
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
        return _stream(source, is_kept=is_kept, depth=depth + 1)
    raise MalformedStateError(f"kind {kind} of state handle is not known")


def _keyed(source: StateBytes, depth: int) -> None:
    kind = source.byte()
    if kind == 0:
        return
    if depth > _DEPTH or kind not in _KEYED:
        raise MalformedStateError(f"kind {kind} of keyed state is not known")
    _KEYED[kind](source, kind, depth)


def _key_groups(source: StateBytes, kind: int, depth: int) -> None:
    source.skip(4)
    source.longs()
    _stream(source)
    if kind == 12:
        source.text()


def _incremental(source: StateBytes, kind: int, depth: int) -> None:
    source.skip(8)
    source.text()
    source.skip(16 if kind == 11 else 8)
    _stream(source)
    for _ in ("shared", "private"):
        for _ in range(source.count()):
            source.text()
            _stream(source)
    if kind == 11:
        source.text()


def _changelog(source: StateBytes, kind: int, depth: int) -> None:
    source.skip(16)
    for _ in ("materialised", "changes"):
        for _ in range(source.count()):
            _keyed(source, depth + 1)
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
        _stream(source)
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


def _channel(source: StateBytes, version: int) -> None:
    kind = source.byte() if version >= 6 else 1
    if kind not in (1, 2, 3, 4):
        raise MalformedStateError(f"kind {kind} of channel state is not known")
    source.skip(4)
    if kind in (1, 2):
        source.skip(8)
        source.longs()
    source.skip(8)
    _stream(source)
    if kind in (3, 4):
        source.block()
