"""Which librdkafka properties a user may set.

Some properties load code, run commands or read files named by whoever sets
them (`plugin.library.paths`, `sasl.kerberos.kinit.cmd`, `ssl.engine.location`),
and others would break the way a range is read (`auto.offset.reset`). So this
is an allow-list; everything else is refused by name. Meanings and defaults are
those of librdkafka's CONFIGURATION.md. This file opens no connection.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Final

from hotset.errors import KafkaConfigError

ALLOWED_KAFKA_PROPERTIES: Final = frozenset(
    {
        "bootstrap.servers",
        "broker.address.family",
        "client.dns.lookup",
        "client.id",
        "client.rack",
        "connections.max.idle.ms",
        "fetch.max.bytes",
        "fetch.message.max.bytes",
        "max.partition.fetch.bytes",
        "message.max.bytes",
        "metadata.max.age.ms",
        "receive.message.max.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "sasl.mechanism",
        "sasl.mechanisms",
        "sasl.password",
        "sasl.username",
        "security.protocol",
        "socket.connection.setup.timeout.ms",
        "socket.keepalive.enable",
        "socket.nagle.disable",
        "socket.timeout.ms",
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.cipher.suites",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.location",
        "ssl.key.password",
        "ssl.key.pem",
        "ssl.keystore.location",
        "ssl.keystore.password",
    }
)

SECRET_KAFKA_PROPERTIES: Final = frozenset(
    {"sasl.password", "ssl.key.password", "ssl.key.pem", "ssl.keystore.password"}
)

_OWN: Final = {
    "auto.offset.reset": "a range that is gone is an error here, never a reset",
    "enable.auto.commit": "reading never commits",
    "group.id": "reading uses no consumer group",
    "isolation.level": "it is the table's own option, kafka.isolation.level",
    "key.deserializer": "use valueFormat",
    "value.deserializer": "use valueFormat",
    "interceptor.classes": "it would run code named by an option",
    "sasl.jaas.config": "librdkafka takes sasl.username and sasl.password",
    "ssl.truststore.location": "librdkafka takes ssl.ca.location",
    "ssl.truststore.password": "librdkafka takes ssl.ca.location",
}


def check_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties as a plain dict if each of them may be set.

    Args:
        properties: librdkafka property names without a prefix, and values.

    Raises:
        KafkaConfigError: A property is not allowed, or `bootstrap.servers` is missing.
    """
    for name in properties:
        if name in ALLOWED_KAFKA_PROPERTIES:
            continue
        if name in _OWN:
            raise KafkaConfigError(f"kafka.{name} cannot be set: {_OWN[name]}; remove it", property=name)
        near = difflib.get_close_matches(name, ALLOWED_KAFKA_PROPERTIES, n=1)
        hint = f"; did you mean kafka.{near[0]}" if near else ""
        raise KafkaConfigError(
            f"kafka.{name} is not among the Kafka properties that may be set{hint}", property=name
        )
    if not properties.get("bootstrap.servers"):
        raise KafkaConfigError(
            "kafka.bootstrap.servers is missing; set it to host:port of one or more brokers",
            property="bootstrap.servers",
        )
    return dict(properties)
