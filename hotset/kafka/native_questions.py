"""Questions to a cluster, by the module in C: offsets of all partitions of a topic, and a topic's identity.

The Python client makes an object of locks for each partition of an answer; for topics of a thousand
partitions that takes longer than the cluster does. Where the module was not built, the Python client asks.
"""

from __future__ import annotations

import array
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from confluent_kafka import KafkaError, KafkaException

from hotset.kafka.connection_trouble import Trouble
from hotset.native import native_available

if TYPE_CHECKING:
    from hotset.native import _reader

# librdkafka looks up each partition of an answer among all of its question: ten of 100 cost a tenth of one of
# 1,000.
_TOGETHER: Final = 128


class NativeQuestions:
    """Asks a cluster with a connection of its own, which is made with the first question."""

    def __init__(self, properties: Mapping[str, str], trouble: Trouble) -> None:
        self._properties = dict(properties)
        self._trouble = trouble
        self._asker: _reader.Asker | None = None

    def list_offsets(
        self, topic: str, count: int, kind: int, timeout_s: float, *, is_committed: bool
    ) -> PendingOffsets:
        """Ask for one kind of offset of all partitions of a topic.

        Raises:
            ValueError: librdkafka refuses a property or an argument.
        """
        asker, limit_ms = self._open(), int(timeout_s * 1000)
        asked = [
            asker.list_offsets(topic, first, min(_TOGETHER, count - first), kind, is_committed, limit_ms)
            for first in range(0, count, _TOGETHER)
        ]
        return PendingOffsets(self, asked)

    def describe(self, topic: str, timeout_s: float) -> PendingTopic:
        """Ask who a topic is.

        Raises:
            ValueError: librdkafka refuses a property or an argument.
        """
        return PendingTopic(self, [self._open().describe(topic, int(timeout_s * 1000))])

    def note_troubles(self) -> None:
        """Pass on what connections have reported."""
        for code, text in () if self._asker is None else self._asker.troubles():
            if code:
                self._trouble.note(KafkaError(code, text))
            else:
                self._trouble.hear(text, "questions")

    def _open(self) -> _reader.Asker:
        if self._asker is None:
            from hotset.native import _reader

            self._asker = _reader.Asker(self._properties)
        return self._asker


class _Pending:
    """Questions that were asked together, and their answers once all are there."""

    def __init__(self, questions: NativeQuestions, asked: Sequence[_reader.Question]) -> None:
        self._questions = questions
        self._asked = asked
        self._left = list(asked)

    def wait(self, wait_s: float) -> bool:
        """Wait for the answers; return whether all are there."""
        until_s = time.monotonic() + wait_s
        while self._left and self._left[-1].wait(max(0, int((until_s - time.monotonic()) * 1000))):
            self._left.pop()
        if self._left:
            self._questions.note_troubles()
        return not self._left

    def _answers(self) -> Iterator[tuple[str, bytes, bytes, bytes]]:
        for each in self._asked:
            error, text, topic_id, partitions, offsets, epochs = each.answer()
            if error:
                raise KafkaException(KafkaError(error, text))
            yield topic_id, partitions or b"", offsets or b"", epochs or b""


class PendingOffsets(_Pending):
    """Offsets of partitions."""

    def result(self) -> dict[int, tuple[int, int]]:
        """Return per partition the offset and the leader's epoch, -1 if that is not known.

        Raises:
            KafkaException: A partition has none.
        """
        found: dict[int, tuple[int, int]] = {}
        for _, partitions, offsets, epochs in self._answers():
            told = zip(array.array("q", offsets), array.array("i", epochs), strict=True)
            found.update(zip(array.array("i", partitions), told, strict=True))
        return found


class PendingTopic(_Pending):
    """A topic's identity and its partitions."""

    def result(self) -> tuple[str, tuple[int, ...]]:
        """Return the topic's id and its partitions.

        Raises:
            KafkaException: There is no such topic.
        """
        [(topic_id, partitions, _, _)] = self._answers()
        return topic_id, tuple(sorted(array.array("i", partitions)))


def questions_of(properties: Mapping[str, str], trouble: Trouble) -> NativeQuestions | None:
    """Return what asks by the module in C, or None where that is not there."""
    return NativeQuestions(properties, trouble) if native_available().is_available else None
