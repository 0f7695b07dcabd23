"""Three real Kafka brokers and a controller on this machine, for what one broker cannot show.

Leaders that die or freeze, rolling restarts and records lost by an unclean election need replicas.
The controller is a node of its own, so any broker, and all of them at once, can be taken away while
somebody is left to elect a leader. It must not know tables or queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin import OffsetSpec as _OffsetSpec  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from stack.errors import StackError
from stack.kafka import SETTINGS
from stack.node import KafkaNode, random_uuid
from stack.ports import HOST, free_port
from stack.stoppable import Stoppable
from stack.waiting import DEADLINE_S, wait_until

CONTROLLER_ID: Final = 100
HEAP_MB: Final = 256
NEWS_S: Final = 20.0
LATEST: Final[Any] = _OffsetSpec.latest()  # type: ignore[no-untyped-call]


class KafkaCluster(Stoppable):
    """Brokers with the ids 1, 2, … and one controller; none of them outlives this process."""

    def __init__(self, controller: KafkaNode, brokers: Mapping[int, KafkaNode], ports: Sequence[int]) -> None:
        """Hold the nodes of a cluster; use `start`."""
        self.controller = controller
        self.brokers = brokers
        self.bootstrap = ",".join(f"{HOST}:{port}" for port in ports)
        self._addresses = {number: f"{HOST}:{port}" for number, port in zip(brokers, ports, strict=True)}
        self._frozen: set[int] = set()

    @classmethod
    def start(
        cls,
        directory: Path,
        *,
        brokers: int = 3,
        properties: Mapping[str, str] | None = None,
        deadline_s: float = DEADLINE_S,
    ) -> Self:
        """Start a new cluster in an empty folder and wait until all brokers have joined.

        Args:
            directory: Holds one folder per node.
            brokers: How many; their ids begin with 1.
            properties: Settings of every broker that replace or extend the usual ones.
            deadline_s: How long all of it may take.

        Raises:
            StackError: Java or the jars are missing, or a node ended or was late.
        """
        quorum = f"{HOST}:{free_port()}"
        ports = _free_ports(brokers)
        controller = KafkaNode(directory / "controller", _controller_settings(quorum), heap_mb=HEAP_MB)
        nodes = {
            number: KafkaNode(
                directory / f"broker-{number}",
                _broker_settings(number, port, quorum, brokers) | dict(properties or {}),
                heap_mb=HEAP_MB,
            )
            for number, port in enumerate(ports, 1)
        }
        cluster = cls(controller, nodes, ports)
        cluster_id = random_uuid()
        controller.format(cluster_id, "--standalone", deadline_s=deadline_s)
        try:
            controller.run()
            for number, node in nodes.items():
                node.adopt(cluster_id, number)
                node.run()
            for number in nodes:
                cluster._wait_for_broker(number, deadline_s)
        except BaseException:
            cluster.stop()
            raise
        return cluster

    def kill(self, broker: int) -> None:
        """End one broker at once (SIGKILL); after 3 s others lead in its place."""
        self.brokers[broker].kill()

    def freeze(self, broker: int) -> None:
        """Freeze one broker (SIGSTOP); after 3 s others lead in its place."""
        self.brokers[broker].pause()
        self._frozen.add(broker)

    def thaw(self, broker: int) -> None:
        """Let a frozen broker go on (SIGCONT)."""
        self.brokers[broker].resume()
        self._frozen.discard(broker)

    def restart(self, broker: int, *, deadline_s: float = DEADLINE_S) -> None:
        """Stop one broker in order if it runs, start it again, and wait until it has joined.

        Raises:
            StackError: It ended or was late.
        """
        node = self.brokers[broker]
        self._frozen.discard(broker)
        node.stop()
        node.run()
        self._wait_for_broker(broker, deadline_s)

    def rolling_restart(self, *, deadline_s: float = DEADLINE_S) -> None:
        """Restart one broker after the other, each when all replicas are in sync again.

        Raises:
            StackError: A broker or its replicas were late.
        """
        for broker in self.brokers:
            self.restart(broker, deadline_s=deadline_s)
            self.wait_for_replicas(deadline_s=deadline_s)

    def create_topic(
        self, topic: str, *, partitions: int = 1, replicas: int = 3, config: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic and wait until each of its partitions has all its replicas in sync.

        Raises:
            StackError: The cluster refused it or was late.
        """
        new = NewTopic(topic, partitions, replicas, config=dict(config or {}))
        client = self._client()
        try:
            client.create_topics([new])[topic].result(DEADLINE_S)
        except KafkaException as exc:
            raise StackError(f"topic {topic} was not created: {exc}") from exc
        self.wait_for_replicas(topic)

    @property
    def reachable(self) -> str:
        """The addresses of the brokers that run and are not frozen."""
        up = (b for b, node in self.brokers.items() if node.is_running and b not in self._frozen)
        return ",".join(self._addresses[broker] for broker in up)

    def leader(self, topic: str, partition: int = 0) -> int:
        """Return the id of the broker that leads a partition; -1 if none does.

        Raises:
            StackError: No broker answers, or there is no such partition.
        """
        leader: int = self._partition(topic, partition).leader
        return leader

    def replicas(self, topic: str, partition: int = 0) -> list[int]:
        """Return the ids of the brokers that hold a partition.

        Raises:
            StackError: As in `leader`.
        """
        return list(self._partition(topic, partition).replicas)

    def in_sync(self, topic: str, partition: int = 0) -> list[int]:
        """Return the ids of the brokers whose replica of a partition is in sync.

        Raises:
            StackError: As in `leader`.
        """
        return list(self._partition(topic, partition).isrs)

    def wait_for_replicas(self, topic: str | None = None, *, deadline_s: float = DEADLINE_S) -> None:
        """Wait until every replica (of one topic, or of all) is in sync.

        Raises:
            StackError: They were late.
        """

        def are_in_sync() -> bool:
            topics = self._topics()
            wanted = topics.values() if topic is None else [topics[topic]] if topic in topics else []
            partitions = [p for t in wanted for p in t.partitions.values()]
            known = bool(partitions) or topic is None
            return known and all(len(p.isrs) == len(p.replicas) and p.leader > 0 for p in partitions)

        wait_until(are_in_sync, f"replicas of {topic or 'all topics'} to be in sync", deadline_s)

    def end_offset(self, topic: str, partition: int = 0) -> int:
        """Return the high watermark of a partition.

        Raises:
            StackError: No leader answers.
        """
        told: list[int] = []

        def is_told() -> bool:
            told.append(self._end_offset(topic, partition))
            return True

        # A broker that has just become the leader refuses the epoch it is asked under, for a moment.
        wait_until(is_told, f"the end of {topic}-{partition}")
        return told[0]

    def stop(self) -> None:
        """End all nodes at once: an orderly end takes seconds each, and nothing here is kept."""
        for node in (*self.brokers.values(), self.controller):
            node.kill()

    def _end_offset(self, topic: str, partition: int) -> int:
        asked = {TopicPartition(topic, partition): LATEST}
        client = self._client()
        try:
            [found] = client.list_offsets(asked, request_timeout=DEADLINE_S).values()
            offset: int = found.result(DEADLINE_S).offset
        except KafkaException as exc:
            raise StackError(f"no end of {topic}-{partition} is known: {exc}") from exc
        return offset

    def _client(self) -> AdminClient:
        # A client that knew a broker before it was frozen goes on waiting for its answer.
        return AdminClient({"bootstrap.servers": self.reachable, "log_level": 0})

    def _topics(self) -> dict[str, Any]:
        client = self._client()
        try:
            return dict(client.list_topics(timeout=5).topics)
        except KafkaException as exc:
            raise StackError(f"no broker of {self.bootstrap} answers: {exc}") from exc

    def _partition(self, topic: str, partition: int) -> Any:
        # A broker hears of a new topic a moment later than the one that was asked to make it.
        wait_until(lambda: topic in self._topics(), f"topic {topic} to be known", NEWS_S)
        found = self._topics()[topic].partitions.get(partition)
        if found is None:
            raise StackError(f"topic {topic} has no partition {partition}")
        return found

    def _wait_for_broker(self, broker: int, deadline_s: float) -> None:
        self.brokers[broker].wait_for(lambda: self._has_joined(broker), deadline_s)

    def _has_joined(self, broker: int) -> bool:
        client = AdminClient({"bootstrap.servers": self._addresses[broker], "log_level": 0})
        try:
            return broker in client.list_topics(timeout=2.0).brokers
        except KafkaException:
            return False


def _controller_settings(quorum: str) -> dict[str, str]:
    return {
        **SETTINGS,
        "process.roles": "controller",
        "node.id": str(CONTROLLER_ID),
        "controller.quorum.bootstrap.servers": quorum,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"CONTROLLER://{quorum}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
    }


def _broker_settings(number: int, port: int, quorum: str, brokers: int) -> dict[str, str]:
    replicas = str(min(3, brokers))
    return {
        **SETTINGS,
        "process.roles": "broker",
        "node.id": str(number),
        "controller.quorum.bootstrap.servers": quorum,
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "CLIENT",
        "listeners": f"CLIENT://{HOST}:{port}",
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "offsets.topic.replication.factor": replicas,
        "share.coordinator.state.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": str(min(2, brokers)),
    }


def _free_ports(count: int) -> list[int]:
    ports: set[int] = set()
    while len(ports) < count:
        ports.add(free_port())
    return sorted(ports)
