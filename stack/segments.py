"""What a broker keeps on disk, for faults that no request can cause and for states no request tells.

A flipped bit in a segment file is what checksums are for, and how far the cleaner has come is
written in a checkpoint. It knows the outline of Kafka's files, and must not know what is in a record.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stack.errors import StackError
from stack.node import KafkaNode
from stack.waiting import DEADLINE_S, wait_until

# A record batch begins with its base offset, its length after these two, leader epoch, magic byte,
# checksum, attributes and the distance to its last offset.
BATCH: Final = struct.Struct(">qiibIhi")
AFTER_LENGTH: Final = 12

# Settings of a topic that is compacted within seconds. A segment is compacted once it is no longer
# the one written to: a record written `segment.ms` after the segment's first one begins a new one.
COMPACTED: Final = {
    "cleanup.policy": "compact",
    "delete.retention.ms": "0",
    "min.cleanable.dirty.ratio": "0.001",
    "segment.ms": "500",
}


@dataclass(frozen=True, slots=True)
class FlippedBit:
    """One bit of one record batch that is not what was written."""

    path: Path
    position: int
    first_offset: int
    last_offset: int

    def restore(self) -> None:
        """Flip it back."""
        _flip(self.path, self.position)


def flip_bit(node: KafkaNode, topic: str, offset: int, *, partition: int = 0) -> FlippedBit:
    """Flip one bit in the batch that holds an offset, so that its checksum is wrong.

    A running broker hands the batch out as it is, and so does a stopped one when it is started
    again. A broker that was killed checks its last segment at the next start, and would cut it off.

    Args:
        node: The broker whose file it is.
        topic: The topic.
        offset: Of a record that has been acknowledged.
        partition: The partition.

    Returns:
        Which bit it was, and the offsets of the batch.

    Raises:
        StackError: No file of the node has such an offset.
    """
    for path in sorted(_folder(node, topic, partition).glob("*.log")):
        for start, length, first, last in _batches(path):
            if first <= offset <= last:
                end = start + AFTER_LENGTH + length - 1  # the last byte of the last record
                _flip(path, end)
                return FlippedBit(path, end, first, last)
    raise StackError(f"no segment of {topic}-{partition} holds offset {offset}")


def wait_for_compaction(
    node: KafkaNode, topic: str, before: int, *, partition: int = 0, deadline_s: float = DEADLINE_S
) -> None:
    """Wait until the cleaner has been over everything below an offset.

    Args:
        node: The broker that leads the partition.
        topic: Has the settings `COMPACTED`.
        before: An offset in the segment that is written to, or its start.
        partition: The partition.
        deadline_s: How long to wait.

    Raises:
        StackError: The cleaner has not come so far in time.
    """
    wait_until(
        lambda: _cleaned(node, topic, partition) >= before,
        f"{topic}-{partition} to be compacted up to {before}",
        deadline_s,
    )


def _folder(node: KafkaNode, topic: str, partition: int) -> Path:
    folder = node.records / f"{topic}-{partition}"
    if not folder.exists():
        raise StackError(f"the node in {node.directory} has no partition {topic}-{partition}")
    return folder


def _batches(path: Path) -> Iterator[tuple[int, int, int, int]]:
    """Yield start and length in bytes, first and last offset of each batch in a segment."""
    data = path.read_bytes()
    start = 0
    while start + BATCH.size <= len(data):
        first, length, _, _, _, _, delta = BATCH.unpack_from(data, start)
        if length <= 0 or start + AFTER_LENGTH + length > len(data):
            return
        yield start, length, first, first + delta
        start += AFTER_LENGTH + length


def _flip(path: Path, position: int) -> None:
    with path.open("r+b") as file:
        file.seek(position)
        [byte] = file.read(1)
        file.seek(position)
        file.write(bytes([byte ^ 1]))


def _cleaned(node: KafkaNode, topic: str, partition: int) -> int:
    """Return the first offset that the cleaner has not been over."""
    path = node.records / "cleaner-offset-checkpoint"
    if not path.exists():
        return 0
    for line in path.read_text(encoding="utf-8").splitlines():
        name, number, offset, *_ = [*line.split(), "", "", ""]
        if (name, number) == (topic, str(partition)):
            return int(offset)
    return 0
