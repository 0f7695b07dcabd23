"""A real Kafka broker on this machine, because a simulated one hides what the hot half depends on.

librdkafka's mock cluster does not filter aborted transactions, does not compact and does not
retain, so every claim about Kafka is tested against Apache Kafka itself: one node, KRaft, loopback
only. This module must not know topics, records or tables; it starts, disturbs and ends a broker.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from stack.node import START_DEADLINE_S, KafkaNode, random_uuid
from stack.ports import HOST, free_port

# One node has one replica. Periods are short so that what takes a production broker minutes
# (retention, compaction, deletion, transaction timeouts) can be waited for in a test. A restart
# after a kill waits for the session timeout: until then the controller believes in the old broker.
SETTINGS = {
    "auto.create.topics.enable": "false",
    "broker.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "3000",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
    "log.initial.task.delay.ms": "200",
    "log.retention.check.interval.ms": "500",
    "log.segment.delete.delay.ms": "1000",
    "num.io.threads": "4",
    "num.network.threads": "2",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "4",
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "1",
}


@dataclass(frozen=True, slots=True)
class Listener:
    """A further door of a broker: where it listens, and where it tells clients to come."""

    name: str
    port: int
    protocol: str = "PLAINTEXT"
    advertised_port: int | None = None


class KafkaBroker(KafkaNode):
    """One Kafka node that answers while this object is open, and never outlives this process."""

    def __init__(
        self, directory: Path, *, port: int, listeners: Sequence[Listener], properties: Mapping[str, str]
    ) -> None:
        """Describe a broker whose files are in `directory`; use `start`."""
        self.bootstrap = f"{HOST}:{port}"
        self._port = port
        controller = free_port(taken=port)
        doors = [Listener("CLIENT", port), Listener("CONTROLLER", controller), *listeners]
        super().__init__(
            directory,
            {
                "process.roles": "broker,controller",
                "node.id": "1",
                "controller.quorum.bootstrap.servers": f"{HOST}:{controller}",
                "controller.listener.names": "CONTROLLER",
                "inter.broker.listener.name": "CLIENT",
                "listeners": ",".join(f"{door.name}://{HOST}:{door.port}" for door in doors),
                "advertised.listeners": ",".join(
                    f"{door.name}://{HOST}:{door.advertised_port or door.port}" for door in doors
                ),
                "listener.security.protocol.map": ",".join(f"{door.name}:{door.protocol}" for door in doors),
                **SETTINGS,
                **properties,
            },
        )

    @classmethod
    def start(
        cls,
        directory: Path,
        *,
        port: int | None = None,
        listeners: Sequence[Listener] = (),
        properties: Mapping[str, str] | None = None,
        deadline_s: float = START_DEADLINE_S,
    ) -> Self:
        """Start a broker and wait until it answers.

        Args:
            directory: Holds its settings, log and records. An empty folder makes a new broker; the
                folder of an earlier one brings back that broker's records.
            port: Where clients connect; a free port by default.
            listeners: Where clients may connect besides.
            properties: Broker settings that replace or extend `SETTINGS`.
            deadline_s: How long the broker may take to answer.

        Returns:
            The broker, ready for clients at `bootstrap`.

        Raises:
            StackError: Java or the jars are missing, or the broker ended or was late; the message
                then ends with the tail of its log.
        """
        port = free_port() if port is None else port
        broker = cls(directory, port=port, listeners=listeners, properties=properties or {})
        broker.format(broker.cluster_id or random_uuid(), "--standalone", deadline_s=deadline_s)
        broker.run()
        broker.wait_for(broker._answers, deadline_s)
        return broker

    def restart(self, *, deadline_s: float = START_DEADLINE_S) -> None:
        """Stop the broker if it runs, and start it with the same ports and records.

        Args:
            deadline_s: How long the broker may take to answer again.

        Raises:
            StackError: As in `start`.
        """
        self.stop()
        self.run()
        self.wait_for(self._answers, deadline_s)

    def _answers(self) -> bool:
        """Whether the broker has joined its own cluster and tells clients so."""
        with socket.socket() as probe:
            if probe.connect_ex((HOST, self._port)) != 0:
                return False
        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            cluster = client.list_topics(timeout=2.0)
        except KafkaException:
            return False
        # Where the port was taken, somebody else's broker answers while ours ends.
        return bool(cluster.brokers) and cluster.cluster_id == self.cluster_id
