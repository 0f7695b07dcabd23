"""How far the Kafka sources of a Flink checkpoint had read.

A source keeps one entry per partition it was given: topic, partition, and the next
offset it will read. Its coordinator keeps which partitions were given out; the two
are compared, so a partition that is missing from one of them is an error and never
a partition of which nothing was read. It must not know Iceberg, nor open a file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from federation.boundary.flink.checkpoint_metadata import SOURCE_STATE, Metadata, Operator, read_elements
from federation.boundary.flink.state_bytes import MalformedStateError, StateBytes
from federation.boundary.flink.state_handles import StatePlace

EARLIEST: Final = -2
_OTHER_STARTS: Final = (-1, -3)
_LEGACY: Final = "topic-partition-offset-states"
_ASSIGNED: Final = 0

Load = Callable[[StatePlace], bytes]
Positions = dict[tuple[str, int], int]


def read_positions(metadata: Metadata, topic: str, load: Load) -> dict[int, int]:
    """Return the next offset of each partition of a topic that a source was given.

    Args:
        metadata: The checkpoint.
        topic: The topic.
        load: Returns the bytes of a state.

    Returns:
        Partition to next offset, empty if no source reads the topic; below zero
            where it had not begun to read:
        -2 from the earliest record, -1 from the latest, -3 from the group's offsets.

    Raises:
        MalformedStateError: Two sources disagree about a partition, or one is of a
            kind that is not known.
    """
    found: dict[int, int] = {}
    if any(operator.has_records_on_their_way for operator in metadata.operators):
        raise MalformedStateError(
            "it is unaligned and keeps records that were read and not yet written "
            "(execution.checkpointing.unaligned.enabled)"
        )
    for operator in metadata.operators:
        if _LEGACY in operator.state_names:
            raise MalformedStateError("it is of a job with the old FlinkKafkaConsumer, which is not known")
        if SOURCE_STATE not in operator.state_names:
            if topic.encode() in (operator.coordinator or b""):
                raise MalformedStateError(f"source {operator.operator_id} has no state of what it read")
            continue
        positions = _positions(operator, topic, load)
        if operator.has_finished and any(name == topic for name, _ in positions):
            raise MalformedStateError(f"tasks of the source of topic {topic!r} had finished and left nothing")
        of_topic = {partition: at for (name, partition), at in positions.items() if name == topic}
        for partition, next_offset in of_topic.items():
            if found.get(partition, next_offset) != next_offset:
                raise MalformedStateError(
                    f"two of its sources read partition {partition} of topic {topic!r}, up to "
                    f"{found[partition]} and {next_offset}"
                )
            found[partition] = next_offset
    if not found and any(operator.has_finished for operator in metadata.operators):
        raise MalformedStateError(f"no source of topic {topic!r} is left in it, and some tasks had finished")
    return found


def read_other_topics(metadata: Metadata, topic: str, load: Load) -> tuple[str, ...]:
    """Return the other topics that the job's Kafka sources read.

    Args:
        metadata: The checkpoint.
        topic: The topic that is known.
        load: Returns the bytes of a state.

    Raises:
        MalformedStateError: A source of the topic is of a kind that is not known.
    """
    sources = [each for each in metadata.operators if SOURCE_STATE in each.state_names]
    return tuple(sorted({name for each in sources for name, _ in _positions(each, topic, load)} - {topic}))


def _positions(operator: Operator, topic: str, load: Load) -> Positions:
    contents = [(source, load(source.place)) for source in operator.lists if source.name == SOURCE_STATE]
    try:
        given = _given(operator.coordinator)
        positions: Positions = {}
        for source, content in contents:
            for element in read_elements(source, content):
                where, next_offset = _split(element.block())
                if where in positions:
                    raise MalformedStateError(f"partition {where[1]} of topic {where[0]!r} is in it twice")
                positions[where] = next_offset
    except MalformedStateError:
        # The source of something else, if the topic's name is nowhere in it.
        name = topic.encode()
        if any(name in content for _, content in contents) or name in (operator.coordinator or b""):
            raise
        return {}
    if given != positions.keys():
        lost = sorted(given ^ positions.keys())
        raise MalformedStateError(
            f"source {operator.operator_id} was given other partitions than it has state of (in one only: "
            f"{', '.join(f'{name}-{partition}' for name, partition in lost)}), as a bounded source may be"
        )
    return positions


def _split(content: bytes) -> tuple[tuple[str, int], int]:
    source = StateBytes(content)
    version = source.int32()
    if version != 0:
        raise MalformedStateError(f"version {version} of a partition's state is not known")
    split = StateBytes(source.block())
    source.end("a partition's state")
    where = (split.text(), split.int32())
    next_offset = split.int64()
    split.skip(8)  # where a bounded source stops
    split.end("a partition's position")
    if where[1] < 0 or (next_offset < 0 and next_offset not in (EARLIEST, *_OTHER_STARTS)):
        raise MalformedStateError(f"partition {where[1]} of topic {where[0]!r} is at offset {next_offset}")
    return where, next_offset


def _given(coordinator: bytes | None) -> set[tuple[str, int]]:
    if coordinator is None:
        raise MalformedStateError("a source has no coordinator state, so what it was given is not known")
    source = StateBytes(coordinator)
    layout = source.int32()
    if layout not in (0, 1):
        raise MalformedStateError(f"version {layout} of coordinator state is not known")
    version = source.int32()
    enumerator = StateBytes(source.block())
    if layout == 1:
        source.end("a coordinator's state")
    if version not in (1, 2):
        raise MalformedStateError(f"version {version} of the Kafka source's coordinator state is not known")
    given = set()
    for _ in range(enumerator.count()):
        where = (enumerator.text(), enumerator.int32())
        if version == 1 or enumerator.int32() == _ASSIGNED:
            given.add(where)
    if version == 2:
        enumerator.flag()
    enumerator.end("what a source was given")
    return given
