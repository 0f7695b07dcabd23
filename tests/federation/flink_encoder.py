"""Writes what Flink writes into `_metadata`, for situations that no fixture has.

Version 6 of the format, state inline, one source per operator. A test compares its bytes with those of
a real Flink, so it cannot drift into a format of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

SERIALIZER = (
    "org.apache.flink.api.common.typeutils.base.array.BytePrimitiveArraySerializer"
    "$BytePrimitiveArraySerializerSnapshot"
)
PROPERTIES = b"\xac\xed\x00\x05"  # of Java's own serialisation; what follows is not read
UNBOUNDED = -(2**63)

Positions = Mapping[tuple[str, int], int]


@dataclass(frozen=True)
class SourceOperator:
    """A Kafka source: per subtask, the next offset of each partition that it was given."""

    subtasks: Sequence[Positions]
    given: Sequence[tuple[str, int]] | None = None
    operator_id: str = "cbc357ccb763df2852fee8c4fc7d55f2"
    name: str = "Source: events[1]"
    max_parallelism: int = 128
    handles: Sequence[str] = field(default_factory=tuple)


def text(value: str) -> bytes:
    return struct.pack(">H", len(value.encode())) + value.encode()


def block(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def encode_metadata(
    checkpoint_id: int, sources: Sequence[SourceOperator], sinks: Sequence[str] = ()
) -> bytes:
    head = struct.pack(">iiqi", 0x4960672D, 6, checkpoint_id, 0)
    operators = [encode_source(source) for source in sources] + [encode_stateless(sink) for sink in sinks]
    return head + struct.pack(">i", len(operators)) + b"".join(operators) + PROPERTIES


def encode_stateless(operator_id: str) -> bytes:
    head = text("Sink") + text("") + bytes.fromhex(operator_id) + struct.pack(">iib", 1, 128, 0)
    return head + struct.pack(">ii", 1, 0) + struct.pack(">iibbii", 0, 0, 0, 0, 0, 0)


def encode_source(source: SourceOperator) -> bytes:
    given = (
        [where for subtask in source.subtasks for where in subtask] if source.given is None else source.given
    )
    parallelism = len(source.subtasks)
    encoded = text(source.name) + text("") + bytes.fromhex(source.operator_id)
    encoded += struct.pack(">ii", parallelism, source.max_parallelism)
    encoded += b"\x01" + text(source.operator_id) + block(encode_coordinator(given))
    encoded += struct.pack(">i", parallelism)
    for index, subtask in enumerate(source.subtasks):
        handle = source.handles[index] if source.handles else f"file:/state/{index}"
        encoded += struct.pack(">ii", index, 1) + encode_state(subtask, handle)
        encoded += struct.pack(">ibbii", 0, 0, 0, 0, 0)
    return encoded


def encode_coordinator(given: Sequence[tuple[str, int]]) -> bytes:
    entries = b"".join(text(topic) + struct.pack(">ii", partition, 0) for topic, partition in given)
    return struct.pack(">ii", 1, 2) + block(struct.pack(">i", len(given)) + entries + b"\x01")


def encode_state(positions: Positions, handle: str) -> bytes:
    content = struct.pack(">ibh", 6, 0, 1) + text("SourceReaderState") + struct.pack(">ii", 1, 1)
    content += text("OPERATOR_STATE_DISTRIBUTION_MODE") + text("SPLIT_DISTRIBUTE")
    content += struct.pack(">i", 1) + text("VALUE_SERIALIZER") + struct.pack(">i", 2)
    content += text(SERIALIZER) + struct.pack(">ih", 3, 0)
    offsets = []
    for (topic, partition), next_offset in positions.items():
        offsets.append(len(content))
        split = text(topic) + struct.pack(">iqq", partition, next_offset, UNBOUNDED)
        content += block(struct.pack(">i", 0) + block(split))
    listed = struct.pack(f">i{len(offsets)}q", len(offsets), *offsets)
    named = struct.pack(">bi", 4, 1) + text("SourceReaderState") + b"\x00" + listed
    return named + b"\x01" + text(handle) + block(content)
