"""When closed connections mean another protocol, and when they mean a broker that restarts.

The lines are those that librdkafka writes; listeners that really want another protocol are asked in
`tests/stack/`.
"""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from foundation.deadline import Deadline
from hotset.errors import KafkaAccessError
from hotset.kafka.connection_trouble import Trouble

CLOSED = "[thrd:b:9092/1]: b:9092/1: Disconnected: connection closed by peer (after 2ms in state UP)"
DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN)


def close_thrice(trouble: Trouble) -> Trouble:
    trouble.begin()
    for _ in range(3):
        trouble.hear(CLOSED, "questions")
    trouble.note(DOWN)
    return trouble


def test_a_listener_that_closes_all_connections_wants_another_protocol() -> None:
    with pytest.raises(KafkaAccessError, match=r"takes connections and closes them.*kafka.security.protocol"):
        close_thrice(Trouble()).require_access("asking", 0)


def test_a_client_that_had_an_answer_is_never_told_to_speak_otherwise() -> None:
    """A broker that is stopped and started may close each of its connections, more than once."""
    trouble = Trouble()
    trouble.begin()
    trouble.end()

    close_thrice(trouble).require_access("asking", 0)

    assert "security.protocol" not in str(trouble.late("asking", Deadline.after_ms(0)))
