"""A broker that wants a password over TLS is read by those who may, and refuses the rest at once.

Every refusal has a plan's deadline of five minutes here: a test that is slow has waited for it.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from federation.cut.take import take_cut
from federation.plan import answer_schema, plan_hot
from federation.read.split_reader import read_split
from foundation.errors import KafkaIcebergError
from stack import StackError
from stack.certificates import Certificates
from stack.secured import Door, SecuredBroker
from tests.builders import Lake, make_table, make_topic, produce, unique

pytestmark = pytest.mark.kafka

ROWS = [{"run": "r", "producer": "p", "seq": seq, "txn": None} for seq in range(3)]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    with SecuredBroker.start(tmp_path_factory.mktemp("secured")) as running:
        yield running


@pytest.fixture
def lake(broker: SecuredBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Lake]:
    """Makes a lake whose topic the user may read, as seen through one door of the broker."""
    monkeypatch.setenv("PASSWORD", broker.password)
    monkeypatch.setenv("WRONG_PASSWORD", f"not {broker.password}")

    def make(door: Door = "secured", *, without: str = "", **kafka: str) -> Lake:
        topic = make_topic(broker.bootstrap, unique("events"), partitions=1)
        produce(broker.bootstrap, topic, ROWS)
        broker.allow_read(topic)
        client = {**broker.client_properties(door), "sasl.password": "${env:PASSWORD}", **kafka}
        client.pop(without, None)
        options = {f"kafka.{name}": value for name, value in client.items()}
        made = Lake(
            client["bootstrap.servers"],
            tmp_path,
            f"lake.{topic}",
            topic,
            {**options, "planTimeoutMs": "300000"},
        )
        make_table(made.catalog, made.table)
        return made

    return make


@pytest.mark.usefixtures("way")
def test_a_user_with_a_password_reads_over_tls(lake: Callable[..., Lake]) -> None:
    made = lake()

    assert made.sql(f"select count(*) from {made.table}").values() == [[3]]


def test_the_authority_may_be_given_as_text(broker: SecuredBroker, lake: Callable[..., Lake]) -> None:
    text = broker.certificates.authority.read_text(encoding="ascii")

    made = lake(without="ssl.ca.location", **{"ssl.ca.pem": text})

    assert made.open().cut().hot_span == 3


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        ({"sasl.password": "${env:WRONG_PASSWORD}"}, "Invalid username or password"),
        ({"sasl.username": "nobody"}, "Invalid username or password"),
        ({"sasl.mechanism": "SCRAM-SHA-256"}, "Unsupported SASL mechanism"),
        ({"without": "ssl.ca.location"}, "certificate verify failed"),
        ({"door": "expired"}, "certificate verify failed"),
        ({"door": "stranger"}, "certificate verify failed"),
    ],
    ids=["password", "user", "mechanism", "unknown authority", "expired certificate", "another host"],
)
def test_who_is_refused_hears_so_at_once(
    broker: SecuredBroker, lake: Callable[..., Lake], seen: Mapping[str, str], reason: str
) -> None:
    made = lake(**seen)

    with pytest.raises(KafkaIcebergError, match=reason) as caught:
        made.open().cut()

    assert caught.value.code == "KAFKA_ACCESS_DENIED"
    assert not caught.value.retriable
    assert broker.password not in "".join(traceback.format_exception(caught.value))


def test_a_good_client_is_served_after_a_refused_one(lake: Callable[..., Lake]) -> None:
    made = lake()
    with pytest.raises(KafkaIcebergError):
        made.having(**{"kafka.sasl.password": "${env:WRONG_PASSWORD}"}).open().cut()

    assert made.open().cut().hot_span == 3


def test_a_topic_that_the_user_may_not_read_is_named(
    broker: SecuredBroker, lake: Callable[..., Lake]
) -> None:
    made = lake()
    broker.revoke_read(made.topic)

    with pytest.raises(KafkaIcebergError, match=f"{made.topic}.*TOPIC_AUTHORIZATION_FAILED") as caught:
        made.open().cut()

    assert caught.value.code == "KAFKA_ACCESS_DENIED"


@pytest.mark.usefixtures("way")
def test_a_long_read_needs_no_access_to_a_group(broker: SecuredBroker, lake: Callable[..., Lake]) -> None:
    made = lake()
    produce(broker.bootstrap, made.topic, ROWS * 20_000)

    assert made.sql(f"select count(*) from {made.table}").values() == [[60_003]]


@pytest.mark.usefixtures("way")
def test_access_revoked_under_a_cut_ends_the_read(broker: SecuredBroker, lake: Callable[..., Lake]) -> None:
    taken = take_cut(lake().merged())
    [split] = plan_hot(taken, answer_schema(taken), spread=False)
    assert sum(batch.num_rows for batch in read_split(split)) == 3

    broker.revoke_read(taken.definition.topic)

    with pytest.raises(KafkaIcebergError, match="TOPIC_AUTHORIZATION_FAILED") as caught:
        list(read_split(split))
    assert caught.value.code == "KAFKA_ACCESS_DENIED"


def test_certificates_need_a_subject_that_keytool_knows(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="keytool -genkeypair failed"):
        Certificates.make(tmp_path, {"odd": ("nothing", "-1d")})
