"""Whoever speaks another protocol than a listener hears what to set, and not that brokers are down.

librdkafka tells only its log that a broker takes connections and closes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from foundation.deadline import Deadline
from foundation.errors import KafkaIcebergError
from hotset.kafka import connect
from stack import KafkaBroker
from stack.kafka import Listener
from stack.ports import free_port
from stack.secured import SecuredBroker

pytestmark = pytest.mark.kafka

LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required user_reader="secret";'
PATIENT_MS = 300_000
# The first is enough unless the machine is busy.
DEADLINES_MS = (1_000, 10_000, 100_000)


@pytest.fixture(scope="module")
def sasl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a listener that wants a password, and no TLS."""
    port = free_port()
    settings = {"sasl.enabled.mechanisms": "PLAIN", "listener.name.sasl.plain.sasl.jaas.config": LOGIN}
    listeners = [Listener("SASL", port, "SASL_PLAINTEXT")]
    folder = tmp_path_factory.mktemp("sasl")
    with KafkaBroker.start(folder, listeners=listeners, properties=settings):
        yield f"127.0.0.1:{port}"


def test_plaintext_to_a_listener_that_wants_a_password_is_refused_at_once(sasl: str) -> None:
    client = connect({"bootstrap.servers": sasl})

    with pytest.raises(KafkaIcebergError, match=rf"{sasl} takes .* set kafka\.security\.protocol") as caught:
        client.describe("orders", Deadline.after_ms(PATIENT_MS))

    assert (caught.value.code, caught.value.retriable) == ("KAFKA_ACCESS_DENIED", False)


def test_plaintext_to_a_listener_that_wants_tls_is_told_what_to_set(tmp_path: Path) -> None:
    with SecuredBroker.start(tmp_path) as broker:
        address = broker.client_properties("secured")["bootstrap.servers"]
        said = ""

        # A proxy without a broker behind it does the same, so a client asks until its deadline.
        for within_ms in DEADLINES_MS:
            with pytest.raises(KafkaIcebergError) as caught:
                connect({"bootstrap.servers": address}).describe("orders", Deadline.after_ms(within_ms))
            said = str(caught.value)
            if "takes connections" in said:
                break

        assert f"{address} takes connections" in said
        assert "set kafka.security.protocol" in said


def test_the_right_password_opens_that_listener(sasl: str) -> None:
    login = {"sasl.mechanism": "PLAIN", "sasl.username": "reader", "sasl.password": "secret"}
    client = connect({"bootstrap.servers": sasl, "security.protocol": "SASL_PLAINTEXT", **login})

    assert client.cluster_id(Deadline.after_ms(PATIENT_MS))
