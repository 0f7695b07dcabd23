"""Flink's `_metadata`: which operators a checkpoint or savepoint holds, and where their state is.

The file is Flink's own directory of a checkpoint; this reads versions 2 to 6 of it
(Flink 1.3 to 2.1) and keeps only what leads to the positions of sources. Everything
else must still be walked over, since nothing in the file says how long it is. It
must not know Kafka, nor open a file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from federation.boundary.flink.state_bytes import MalformedStateError, StateBytes
from federation.boundary.flink.state_handles import StatePlace, read_place, skip_channel, skip_keyed

SOURCE_STATE: Final = "SourceReaderState"
SINK_STATE: Final = "iceberg-files-committer-state"
_MAGIC: Final = 0x4960672D
_MASTER_MAGIC: Final = -915728746
_SERIAL_MAGIC: Final = b"\xac\xed\x00\x05"
_VERSIONS: Final = (2, 3, 4, 5, 6)
_LAYOUTS: Final = range(1, 7)


@dataclass(frozen=True, slots=True)
class ListState:
    """A list that one subtask has written: where each element begins, and where all of it is."""

    name: str
    elements: tuple[int, ...]
    place: StatePlace


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a checkpoint.

    Attributes:
        operator_id: Its id, as 32 hexadecimal digits.
        name: What Flink calls it; empty in formats that do not tell.
        coordinator: State of its coordinator; None if it has none.
        lists: Lists of its subtasks that have the name of a source's or a sink's state.
        state_names: Names of all list states of its subtasks.
        has_finished: Whether subtasks had ended, and left no state.
        has_records_on_their_way: Whether records between operators are kept in it, as
            an unaligned checkpoint does; those are read and not yet written.
    """

    operator_id: str
    name: str
    coordinator: bytes | None
    lists: tuple[ListState, ...]
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
    name = ""
    if version >= 5:
        name = source.text()
        source.text()  # the user's id of it
    operator_id = source.take(16).hex()
    source.skip(8)  # parallelism, and the largest it may become
    coordinator = None
    if version == 2:
        source.skip(4)
    else:
        place = read_place(source, is_kept=True)
        if place is not None and place.inline is None:
            raise MalformedStateError(f"the coordinator of operator {operator_id} has its state elsewhere")
        coordinator = None if place is None else place.inline
    subtasks = source.int32()
    if subtasks < -1 or subtasks > source.left:
        raise MalformedStateError(f"operator {operator_id} has {subtasks} subtasks")
    found: list[ListState] = []
    names: set[str] = set()
    has_finished, is_waiting = subtasks == -1, False
    for _ in range(max(subtasks, 0)):
        if source.int32() < 0:
            has_finished = True  # its number is written below zero, and nothing follows
        else:
            is_waiting |= _subtask(source, version, found, names)
    return Operator(operator_id, name, coordinator, tuple(found), frozenset(names), has_finished, is_waiting)


def _subtask(source: StateBytes, version: int, found: list[ListState], names: set[str]) -> bool:
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
        skip_keyed(source)
    channels = 0
    for _ in ("input", "output") if version >= 3 else ():
        count = source.count()
        for _ in range(count):
            skip_channel(source, version)
        channels += count
    return channels > 0


def _operator_state(source: StateBytes, found: list[ListState], names: set[str]) -> None:
    kind = source.byte()
    if kind == 0:
        return
    if kind not in (4, 17):
        raise MalformedStateError(f"kind {kind} of operator state is not known")
    kept: list[tuple[str, tuple[int, ...]]] = []
    for _ in range(source.count()):
        name, mode, offsets = source.text(), source.byte(), source.longs()
        names.add(name)
        if name in (SOURCE_STATE, SINK_STATE):
            if mode != 0:
                raise MalformedStateError(f"state {name} is distributed in mode {mode}")
            kept.append((name, offsets))
    is_empty = False
    if kind == 17:
        source.text(), source.text()  # folders that Flink owns
        is_empty = source.flag()
    place = read_place(source, is_kept=bool(kept))
    for name, offsets in kept:
        if offsets and not is_empty:
            if place is None:
                raise MalformedStateError(f"state {name} has elements and no place")
            found.append(ListState(name, offsets, place))


def read_elements(state: ListState, content: bytes) -> Iterator[StateBytes]:
    """Yield the elements of a list, each at its beginning.

    Raises:
        MalformedStateError: They are compressed, or laid out in a way that is not known.
    """
    header = StateBytes(content)
    layout = header.int32()
    if layout not in _LAYOUTS:
        raise MalformedStateError(f"layout {layout} of operator state is not known")
    if layout >= 6 and header.flag():
        raise MalformedStateError("its state is compressed (execution.checkpointing.snapshot-compression)")
    for start in state.elements:
        element = StateBytes(content)
        element.skip(start)
        yield element
