"""A sink of the shared Connect worker, and its control topic.

Tests of Connect say with these words what the sink did; how to ask a worker for it is here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

import pyarrow as pa
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from federation.boundary import boundary_cache as cache
from federation.boundary.connect import control_topic as connect_control
from federation.boundary.connect.control_events import ControlEvent
from foundation.deadline import Deadline
from hotset.kafka.client import connect as kafka
from stack.connect import sink_settings
from tests.builders import HANG_S, Lake, admin, make_topic, wait_until
from tests.fixtures.staged_writers import StagedWorker

METADATA = {
    "transforms": "kafka",
    "transforms.kafka.type": "org.apache.iceberg.connect.transforms.KafkaMetadataTransform",
}
WITH_POSITION = pa.schema(
    [
        ("seq", pa.int64()),
        ("_kafka_metadata_topic", pa.string()),
        ("_kafka_metadata_partition", pa.int64()),
        ("_kafka_metadata_offset", pa.int64()),
        ("_kafka_metadata_timestamp", pa.int64()),
    ]
)
POSITION = ",".join(
    f"{field}=_kafka_metadata_{field}" for field in ("topic", "partition", "offset", "timestamp")
)
COMMIT_S = 240.0  # a killed worker's open transaction may hold the sink up for a minute


class Sink:
    """One sink from a lake's topic into its table, running while this is open."""

    def __init__(
        self,
        worker: StagedWorker,
        lake: Lake,
        *,
        topics: Iterable[str] = (),
        tables: Iterable[str] = (),
        tasks: int = 2,
        isolation: str = "read_committed",
        control: str | None = None,
        control_partitions: int = 1,
        more: Mapping[str, str] | None = None,
    ) -> None:
        self.name = worker.stage.name("sink")
        self.control = control or f"control.{self.name}"
        self.lake = lake
        self._worker = worker
        self._settings = sink_settings(
            topics=[lake.topic, *topics],
            tables=[lake.table, *tables],
            catalog_file=lake.directory / "catalog.db",
            control_topic=self.control,
            tasks=tasks,
            isolation=isolation,
            more=more,
        )
        if control is None:
            make_topic(lake.bootstrap, self.control, partitions=control_partitions)
        # Of the first round in a control topic of its own.
        self._begins = 0 if control is not None else control_partitions

    def put(self, *, tasks: int | None = None) -> None:
        """Start it, or go on with another number of tasks."""
        if tasks is not None:
            self._settings["tasks.max"] = str(tasks)
        self._step({"put": self._settings["tasks.max"]}, self._put)

    def _put(self) -> None:
        if self._begins:
            group = f"connect-{self.name}-coord"
            begin_at_0(self.lake.bootstrap, group, self.control, self._begins)
            self._begins = 0
        self._worker.program.put_sink(self.name, self._settings)

    def remove(self) -> None:
        self._step({"remove": self.name}, lambda: self._worker.program.remove_sink(self.name))

    def wait_for_rows(self, count: int, *, table: str | None = None) -> None:
        """Wait until that many rows are committed to the table, or to another one of the catalog."""
        name = table or self.lake.table

        def has_rows() -> bool:
            snapshot = self.lake.catalog.load_table(name).current_snapshot()
            assert snapshot is None or snapshot.summary is not None
            held = 0 if snapshot is None else int(snapshot.summary["total-records"] or 0)
            return held >= count

        what = f"{count} rows of {self.name} to be committed to {name}"
        self._step({"wait": what}, lambda: wait_until(has_rows, what, COMMIT_S))

    def _step(self, request: Mapping[str, str], act: Callable[[], None]) -> None:
        self._worker.stage.step(request, self.lake.directory, act, control=self.control)

    def events(self) -> Sequence[ControlEvent]:
        """What its tasks have said so far."""
        client = kafka({"bootstrap.servers": self.lake.bootstrap})
        return connect_control.read_control(client, self.control, Deadline.after_ms(30_000)).events

    def __enter__(self) -> Self:
        self.put()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def begin_at_0(bootstrap: str, group: str, topic: str, partitions: int) -> None:
    """Let a group read a topic from its beginning.

    A sink's coordinator begins at the end of control partitions that it has no offset of. A rebalance
    before the first round in one of them then loses what tasks have said there, and with it their rows.
    """
    beginnings = [TopicPartition(topic, partition, 0) for partition in range(partitions)]
    wanted = [ConsumerGroupTopicPartitions(group, beginnings)]
    client = admin(bootstrap)

    def is_set() -> bool:
        told = client.alter_consumer_group_offsets(wanted)[group].result(HANG_S).topic_partitions
        return len(told) == partitions and not any(found.error for found in told)

    wait_until(is_set, f"offsets of {group} to be set")


def forget() -> None:
    """Forget what was found and read so far, as another process would not know it."""
    cache._found.clear()
    connect_control._known.clear()
