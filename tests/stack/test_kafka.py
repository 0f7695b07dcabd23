"""The broker that every other test about Kafka stands on: it answers, obeys, and leaves nothing.

These tests start real JVMs and kill the interpreters that own them.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from stack import KafkaBroker, StackError

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with KafkaBroker.start(tmp_path_factory.mktemp("broker")) as running:
        yield running


def test_records_survive_a_restart_and_a_kill(broker: KafkaBroker) -> None:
    create_topic(broker, "kept")

    produce(broker, "kept", ["before"])
    broker.restart()
    produce(broker, "kept", ["after restart"])
    broker.kill()
    broker.restart()

    assert high_watermark(broker, "kept") == 2


def test_an_aborted_transaction_is_hidden_by_the_broker(broker: KafkaBroker) -> None:
    create_topic(broker, "transacted")
    producer = Producer({**client(broker), "transactional.id": "writer"})
    producer.init_transactions(60)

    for value, end in (("no", producer.abort_transaction), ("yes", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce("transacted", value)
        producer.flush(60)
        end(60)

    assert read_committed(broker, "transacted", end=4) == ["yes"]


def test_a_paused_broker_keeps_its_port_and_does_not_answer(broker: KafkaBroker) -> None:
    broker.pause()
    with pytest.raises(KafkaException):
        admin(broker).list_topics(timeout=1)
    with socket.create_connection(("127.0.0.1", int(broker.bootstrap.split(":")[1])), timeout=30):
        pass

    broker.resume()

    assert admin(broker).list_topics(timeout=60).brokers


def test_a_stopped_broker_leaves_no_process(tmp_path: Path) -> None:
    broker = KafkaBroker.start(tmp_path)

    broker.stop()

    assert not broker.is_running
    assert not is_alive(broker.pid)


@pytest.mark.parametrize("started_in", ["main", "a thread that has ended"])
def test_a_killed_owner_leaves_no_process(tmp_path: Path, started_in: str) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path), started_in],
        stdout=subprocess.PIPE,
        text=True,
    )
    with owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert is_alive(pid)

        owner.send_signal(signal.SIGKILL)

        assert eventually(lambda: not is_alive(pid))


def test_a_wrong_setting_is_an_error_with_the_last_words(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"(?s)not formatted.*num\.network\.threads"):
        KafkaBroker.start(tmp_path, properties={"num.network.threads": "none"})


def test_a_broker_on_a_taken_port_is_an_error(tmp_path: Path, broker: KafkaBroker) -> None:
    taken = int(broker.bootstrap.split(":")[1])

    with pytest.raises(StackError, match=r"(?s)ended with code 1.*Address already in use"):
        KafkaBroker.start(tmp_path, port=taken)


def test_a_late_broker_is_an_error_and_leaves_no_process(tmp_path: Path) -> None:
    broker = KafkaBroker.start(tmp_path)
    broker.stop()

    with pytest.raises(StackError, match=r"(?s)not ready within 0\.2 s.*last lines of"):
        broker.restart(deadline_s=0.2)

    assert not is_alive(broker.pid)


OWNER = textwrap.dedent("""
    import sys, threading, time
    from pathlib import Path
    from stack import KafkaBroker

    def start():
        started.append(KafkaBroker.start(Path(sys.argv[1])))

    started = []
    if sys.argv[2] == "main":
        start()
    else:
        thread = threading.Thread(target=start)
        thread.start()
        thread.join()
    print(started[0].pid, flush=True)
    time.sleep(60)
""")


def client(broker: KafkaBroker) -> dict[str, str | int | float | bool]:
    return {"bootstrap.servers": broker.bootstrap, "log_level": 0}


def admin(broker: KafkaBroker) -> AdminClient:
    return AdminClient(client(broker))


def create_topic(broker: KafkaBroker, topic: str) -> None:
    owner = admin(broker)  # Without a name of its own it would end before its answer comes.
    owner.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)


def produce(broker: KafkaBroker, topic: str, values: list[str]) -> None:
    producer = Producer(client(broker))
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(60) == 0


def high_watermark(broker: KafkaBroker, topic: str) -> int:
    consumer = Consumer({**client(broker), "group.id": "unused"})
    try:
        bounds = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60)
    finally:
        consumer.close()
    assert bounds is not None
    return bounds[1]


def read_committed(broker: KafkaBroker, topic: str, *, end: int) -> list[str]:
    settings = {"group.id": "unused", "isolation.level": "read_committed"}
    consumer = Consumer({**client(broker), **settings})
    values = []
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        until = time.monotonic() + 60
        while consumer.position([TopicPartition(topic, 0)])[0].offset < end:
            assert time.monotonic() < until
            record = consumer.poll(0.2)
            if record is not None:
                assert record.error() is None
                values.append((record.value() or b"").decode())
    finally:
        consumer.close()
    return values


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and awaits its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def eventually(condition: Callable[[], bool], within_s: float = 60.0) -> bool:
    until = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
