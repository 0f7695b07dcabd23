"""Offset ranges, bounds, deadlines and properties: values that need no broker.

A range that cannot be is refused where it is made, and a property that may not
be set is refused by name.
"""

from __future__ import annotations

import pickle

import pytest

from foundation.deadline import Deadline
from hotset.errors import KafkaConfigError
from hotset.kafka.client import connect
from hotset.kafka.kafka_properties import ALLOWED_KAFKA_PROPERTIES, SECRET_KAFKA_PROPERTIES, check_properties
from hotset.kafka.offsets import OffsetRange, PartitionBounds

SERVERS = {"bootstrap.servers": "127.0.0.1:9"}


@pytest.mark.parametrize(("start", "end", "span"), [(0, 0, 0), (5, 5, 0), (5, 8, 3), (0, 2**62, 2**62)])
def test_a_range_is_half_open(start: int, end: int, span: int) -> None:
    made = OffsetRange(1, start, end)

    assert (made.span, made.is_empty) == (span, span == 0)
    assert str(made) == f"1[{start},{end})"
    assert pickle.loads(pickle.dumps(made)) == made


@pytest.mark.parametrize(("partition", "start", "end"), [(-1, 0, 1), (0, -1, 1), (0, 2, 1)])
def test_a_range_that_cannot_be_is_refused(partition: int, start: int, end: int) -> None:
    with pytest.raises(ValueError, match="not an offset range"):
        OffsetRange(partition, start, end)


@pytest.mark.parametrize(("end", "held_back"), [(5, 2), (7, 0), (9, 0)])
def test_an_end_below_the_high_watermark_shows_an_open_transaction(end: int, held_back: int) -> None:
    bounds = PartitionBounds(partition=0, log_start=0, end=end, high_watermark=7)

    assert bounds.held_back == held_back


def test_a_deadline_counts_down_and_never_below_zero() -> None:
    late, early = Deadline.after_ms(0), Deadline.after_ms(60_000)

    assert late.has_passed
    assert late.remaining_s == 0.0
    assert not early.has_passed
    assert 0 < early.remaining_s <= 60


@pytest.mark.parametrize("name", sorted(ALLOWED_KAFKA_PROPERTIES - {"bootstrap.servers"}))
def test_allowed_properties_pass(name: str) -> None:
    assert check_properties({**SERVERS, name: "x"}) == {**SERVERS, name: "x"}


@pytest.mark.parametrize(
    "name",
    [
        "plugin.library.paths",
        "sasl.kerberos.kinit.cmd",
        "ssl.engine.location",
        "ssl.providers",
        "sasl.oauthbearer.token.endpoint.url",
        "auto.offset.reset",
        "enable.auto.commit",
        "group.id",
        "group.instance.id",
        "isolation.level",
        "interceptor.classes",
        "sasl.jaas.config",
        "check.crcs",
        "enable.partition.eof",
        "statistics.interval.ms",
        "debug",
        "log_level",
        "BOOTSTRAP.SERVERS",
    ],
)
def test_a_property_that_runs_code_or_changes_reading_is_refused_by_name(name: str) -> None:
    with pytest.raises(KafkaConfigError, match=f"kafka.{name}") as caught:
        check_properties({**SERVERS, name: "x"})

    assert caught.value.details == {"property": name}


def test_a_mistyped_property_names_the_nearest() -> None:
    with pytest.raises(KafkaConfigError, match=r"did you mean kafka\.client\.id"):
        check_properties({**SERVERS, "client.idd": "x"})


@pytest.mark.parametrize("given", [{}, {"bootstrap.servers": ""}])
def test_without_servers_there_is_no_client(given: dict[str, str]) -> None:
    with pytest.raises(KafkaConfigError, match=r"kafka\.bootstrap\.servers is missing"):
        connect(given)


def test_a_value_that_the_client_refuses_is_the_users_error() -> None:
    with pytest.raises(KafkaConfigError, match="refused its configuration"):
        connect({**SERVERS, "security.protocol": "carrier-pigeon"})


def test_every_secret_property_may_be_set() -> None:
    assert SECRET_KAFKA_PROPERTIES <= ALLOWED_KAFKA_PROPERTIES


def test_equal_properties_share_a_client() -> None:
    assert connect(SERVERS) is connect(dict(SERVERS))
