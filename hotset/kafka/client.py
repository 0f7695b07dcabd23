"""The client of a cluster: calls to librdkafka, with deadlines and typed errors.

It offers what planning and draining need (describe a topic, list offsets, a consumer for exact ranges) and
raises only this package's errors, always with the cause attached.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, TypeVar

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from foundation.deadline import Deadline
from hotset.errors import HotsetError, KafkaConfigError, KafkaProtocolError
from hotset.kafka.connection_trouble import Trouble
from hotset.kafka.error_translation import TRANSIENT, translate
from hotset.kafka.kafka_properties import check_properties
from hotset.kafka.native_questions import NativeQuestions, questions_of
from hotset.kafka.offsets import Isolation, OffsetRange
from hotset.kafka.pending import Pending, PendingFutures, offset_spec
from hotset.kafka.reader_settings import exact_settings, position_of
from hotset.kafka.record_source import DEFAULT_LIMITS, DrainLimits
from hotset.native import is_pure

K = TypeVar("K")
T = TypeVar("T")

_PAUSE_S: Final = 0.05
_SLICE_S: Final = 0.05
# The most that librdkafka takes as the time of one request.
_LONGEST_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """Identity and partitions of a topic, as the cluster's metadata had them."""

    topic: str
    topic_id: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KafkaClient:
    """A read-only view of one cluster, with checked properties.

    Invariant: every call ends at its deadline, and never in a partial answer.
    Not to be carried across a fork: make it in the process that uses it.
    `known` has descriptions of topics that were confirmed once, to be confirmed again by whoever uses them.
    """

    properties: Mapping[str, str] = field(repr=False)  # with secrets in it
    _admin: AdminClient
    _trouble: Trouble = field(repr=False)
    _identity: list[str] = field(default_factory=list, repr=False)
    _questions: NativeQuestions | None = field(default=None, repr=False)
    known: dict[str, TopicDescription] = field(default_factory=dict, repr=False)

    def describe(
        self, topic: str, deadline: Deadline, meanwhile: Callable[[], None] | None = None
    ) -> TopicDescription:
        """Ask the cluster, not a cache, for a topic's identity and partitions.

        What is to be done `meanwhile` is done once the question is sent, and must not raise.

        Raises:
            TopicNotFoundError: There is no such topic.
            KafkaAccessError, KafkaUnavailableError: The cluster refused or did not answer.
        """
        doing = f"describing topic {topic!r} at {self.properties['bootstrap.servers']}"
        native = self._native()
        if native is not None:
            topic_id, partitions = self._ask(
                doing, deadline, lambda limit_s: native.describe(topic, limit_s), meanwhile
            )
        else:
            topics = TopicCollection([topic])
            answer = self.ask(
                doing, deadline, lambda admin, **limit: admin.describe_topics(topics, **limit), meanwhile
            )
            partitions = tuple(sorted(info.id for info in answer[topic].partitions))
            topic_id = str(answer[topic].topic_id)
        if partitions != tuple(range(len(partitions))) or not partitions:
            raise KafkaProtocolError(
                f"{doing} answered partitions {partitions}, which cannot be", topic=topic
            )
        if not topic_id.strip("A"):
            raise KafkaProtocolError(
                f"{doing}: the cluster gives topics no id, so that a recreated topic cannot be told; "
                "Kafka 2.8 or newer is needed",
                topic=topic,
            )
        return TopicDescription(topic, topic_id, partitions)

    def cluster_id(self, deadline: Deadline) -> str:
        """Return what the cluster calls itself; asked once.

        Raises:
            KafkaAccessError, KafkaUnavailableError: The cluster refused or did not answer.
        """
        if not self._identity:
            doing = f"asking the cluster at {self.properties['bootstrap.servers']} for its id"
            answer = self.ask(doing, deadline, lambda admin, **limit: {"": admin.describe_cluster(**limit)})
            self._identity.append(str(answer[""].cluster_id))
        return self._identity[0]

    def list_offsets(
        self,
        topic: str,
        partitions: Iterable[int],
        kind: int,
        isolation: Isolation,
        deadline: Deadline,
    ) -> dict[int, tuple[int, int]]:
        """Ask for one kind of offset of all partitions in a single call.

        Args:
            topic: Its name.
            partitions: Which to ask for.
            kind: `LATEST`, `EARLIEST`, or a time in epoch milliseconds: of the first record not older.
            isolation: Whether the latest offset is the last stable one.
            deadline: When to give up.

        Returns:
            Per partition the offset, -1 if no record is so young, and the leader epoch, -1 if not known.

        Raises:
            TopicNotFoundError: A partition does not exist (any more).
            KafkaAccessError, KafkaUnavailableError: The cluster refused or did not answer.
        """
        doing = f"listing offsets of topic {topic!r} at {self.properties['bootstrap.servers']}"
        partitions, native = tuple(partitions), self._native()
        is_committed = isolation is Isolation.READ_COMMITTED
        # A description has all partitions from 0 on.
        if native is not None and partitions and partitions == tuple(range(len(partitions))):
            return self._ask(
                doing,
                deadline,
                lambda limit_s: native.list_offsets(
                    topic, len(partitions), kind, limit_s, is_committed=is_committed
                ),
            )
        spec = offset_spec(kind)
        wanted = {TopicPartition(topic, partition): spec for partition in partitions}
        level = IsolationLevel.READ_COMMITTED if is_committed else IsolationLevel.READ_UNCOMMITTED
        answer = self.ask(
            doing,
            deadline,
            lambda admin, **limit: admin.list_offsets(wanted, isolation_level=level, **limit),
        )
        return {
            partition.partition: (info.offset, -1 if info.leader_epoch is None else info.leader_epoch)
            for partition, info in answer.items()
        }

    def consume(
        self,
        topic: str,
        ranges: Iterable[OffsetRange],
        isolation: Isolation,
        leader_epoch: Mapping[int, int] = MappingProxyType({}),
        limits: DrainLimits = DEFAULT_LIMITS,
    ) -> Consumer:
        """Return a consumer assigned to the start of each range; close it after use.

        Args:
            topic: Topic name.
            ranges: Where to start.
            isolation: Which transactional records are visible.
            leader_epoch: Partition to epoch of the leader under which the start was
                known; if the log was cut back since, the consumer reports that.
            limits: How much is fetched ahead.

        Raises:
            KafkaConfigError: librdkafka refuses a property.
        """
        ranges = tuple(ranges)
        exact = exact_settings(self.properties, isolation, limits, ranges)
        settings = {**exact, "error_cb": self._trouble.note, "logger": self._trouble}
        consumer = _construct(Consumer, settings)
        consumer.assign([position_of(topic, r, leader_epoch.get(r.partition, -1)) for r in ranges])
        return consumer

    def note(self, error: KafkaError) -> None:
        """Take note of what a reader's connections report, for answers that come too late."""
        self._trouble.note(error)

    def late(self, doing: str, deadline: Deadline) -> HotsetError:
        """Return the error for an operation that ran out of time."""
        self._admin.poll(0)  # hands out the errors that librdkafka has noted since
        return self._trouble.late(doing, deadline)

    def ask(
        self,
        doing: str,
        deadline: Deadline,
        call: Callable[..., Mapping[K, Future[T]]],
        meanwhile: Callable[[], None] | None = None,
    ) -> dict[K, T]:
        """Make one call of the admin client, again while it fails in passing; else raise a HotsetError."""

        def begin(limit_s: float) -> PendingFutures[K, T]:
            return PendingFutures(self._admin, call(self._admin, request_timeout=limit_s))

        return self._ask(doing, deadline, begin, meanwhile)

    def _ask(
        self,
        doing: str,
        deadline: Deadline,
        begin: Callable[[float], Pending[T]],
        meanwhile: Callable[[], None] | None = None,
    ) -> T:
        cause: KafkaException | None = None
        if self._questions is not None:
            self._questions.note_troubles()  # those that came since the last question are of no interest
        refusals = self._trouble.begin()
        while not deadline.has_passed:
            try:
                pending = begin(min(_LONGEST_S, max(0.001, deadline.remaining_s)))
                if meanwhile is not None:
                    once, meanwhile = meanwhile, None
                    once()
                self._wait(pending, doing, deadline, refusals)
                answer = pending.result()
                self._trouble.end()
                return answer
            except TimeoutError as exc:
                raise self.late(doing, deadline) from exc
            except ValueError as exc:
                raise KafkaConfigError(f"{doing} failed: {exc}") from exc
            except KafkaException as exc:
                if exc.args[0].code() not in TRANSIENT:
                    raise translate(exc.args[0], doing=doing) from exc
                # A partition that is new or moving has no leader for a moment: there is time to ask again.
                cause = exc
                time.sleep(min(_PAUSE_S, deadline.remaining_s))
        raise self.late(doing, deadline) from cause

    def _wait(self, pending: Pending[T], doing: str, deadline: Deadline, refusals: int) -> None:
        """Wait for the answer, but not for a cluster whose every broker refuses this client."""
        # The margin lets librdkafka's own timeout speak first: its text is better.
        at_s = deadline.at_s + 1.0
        while not pending.wait(min(_SLICE_S, max(0.0, at_s - time.monotonic()))):
            self._trouble.require_access(doing, refusals)
            if time.monotonic() >= at_s:
                raise TimeoutError(doing)

    def _native(self) -> NativeQuestions | None:
        # Asked each time: a test may want everything done in Python.
        return None if is_pure() else self._questions


def connect(properties: Mapping[str, str]) -> KafkaClient:
    """Return a client for the cluster the properties name.

    Clients are shared by equal properties within a process, so a query does not pay for a connection. Nothing
    is sent yet: an unreachable cluster shows at the first call.

    Args:
        properties: librdkafka properties, without a prefix, secrets resolved.

    Raises:
        KafkaConfigError: A property is not allowed, missing or refused.
    """
    return _connect(os.getpid(), tuple(sorted(check_properties(properties).items())))


# By process id: librdkafka's handles do not survive a fork, and must not even be destroyed in a child.
@functools.lru_cache(maxsize=64)
def _connect(_pid: int, items: tuple[tuple[str, str], ...]) -> KafkaClient:
    trouble = Trouble()
    settings = {"client.id": "kafkaiceberg", **dict(items), "error_cb": trouble.note, "logger": trouble}
    found = questions_of({"client.id": "kafkaiceberg", **dict(items)}, trouble)
    return KafkaClient(dict(items), _construct(AdminClient, settings), trouble, _questions=found)


def _construct(cls: Callable[[dict[str, Any]], T], settings: dict[str, Any]) -> T:
    try:
        return cls(settings)
    except KafkaException as exc:
        # The text of librdkafka names the property, and never its value when it is a secret.
        raise KafkaConfigError(f"the Kafka client refused its configuration: {exc.args[0].str()}") from exc
