"""A broker that wants a password over TLS and asks an authorizer, as brokers outside a lab do.

One broker has four doors: the plain one of `bootstrap`, where whoever comes may do everything, and
three that want SASL/PLAIN over TLS and differ in their certificate: a good one, an expired one and
one of another host. It must not know what is read through them.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, Literal, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclBindingFilter, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType

from stack.certificates import Certificates
from stack.errors import StackError
from stack.kafka import KafkaBroker, Listener
from stack.node import START_DEADLINE_S
from stack.ports import HOST, free_port
from stack.waiting import wait_until

ASK_S: Final = 30.0
USER: Final = "reader"

Door = Literal["secured", "expired", "stranger"]

# Whom each certificate is for, and since when it is valid (for a week).
CERTIFICATES: Final[dict[Door, tuple[str, str]]] = {
    "secured": (f"ip:{HOST}", "-1d"),
    "expired": (f"ip:{HOST}", "-30d"),
    "stranger": ("dns:elsewhere.example", "-1d"),
}


class SecuredBroker(KafkaBroker):
    """A broker with one user, `reader`, who may read what `allow_read` names and nothing else."""

    certificates: Certificates
    password: str
    ports: Mapping[Door, int]

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
        """Make certificates and a password, start a broker with them, and wait until it answers.

        Raises:
            StackError: As for any broker, or the certificates could not be made.
        """
        certificates = Certificates.make(directory.resolve() / "certificates", dict(CERTIFICATES.items()))
        password = secrets.token_hex(16)
        ports: dict[Door, int] = {door: free_port() for door in CERTIFICATES}
        settings = {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "sasl.enabled.mechanisms": "PLAIN",
        }
        for door in ports:
            prefix = f"listener.name.{door}"
            settings |= {
                f"{prefix}.ssl.keystore.type": "PKCS12",
                f"{prefix}.ssl.keystore.location": str(certificates.store(door)),
                f"{prefix}.ssl.keystore.password": certificates.password,
                f"{prefix}.plain.sasl.jaas.config": (
                    "org.apache.kafka.common.security.plain.PlainLoginModule required "
                    f'user_{USER}="{password}";'
                ),
            }
        doors = [Listener(door.upper(), number, "SASL_SSL") for door, number in ports.items()]
        broker = super().start(
            directory,
            port=port,
            listeners=[*doors, *listeners],
            properties=settings | dict(properties or {}),
            deadline_s=deadline_s,
        )
        broker.certificates, broker.password, broker.ports = certificates, password, ports
        return broker

    def client_properties(self, door: Door = "secured") -> dict[str, str]:
        """Return what a client of one door sets: librdkafka's names, the password in plain text."""
        return {
            "bootstrap.servers": f"{HOST}:{self.ports[door]}",
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.certificates.authority),
            "sasl.mechanism": "PLAIN",
            "sasl.username": USER,
            "sasl.password": self.password,
        }

    def allow_read(self, topic: str) -> None:
        """Let the user describe and read a topic.

        Raises:
            StackError: The broker refused or did not answer.
        """
        client = self._admin()  # Without a name of its own it would end before its answer comes.
        _settle(client.create_acls([AclBinding(*self._entry(topic))]), f"giving {USER} access to {topic}")
        # The broker hears of it from the controller, after we do.
        wait_until(lambda: self._is_allowed(topic), f"{USER} to have access to {topic}")

    def revoke_read(self, topic: str) -> None:
        """Take back what `allow_read` gave.

        Raises:
            StackError: The broker refused or did not answer.
        """
        client = self._admin()
        _settle(
            client.delete_acls([AclBindingFilter(*self._entry(topic))]),
            f"taking access to {topic} from {USER}",
        )
        wait_until(lambda: not self._is_allowed(topic), f"{USER} to have no access to {topic}")

    def _is_allowed(self, topic: str) -> bool:
        client = self._admin()
        try:
            return bool(client.describe_acls(AclBindingFilter(*self._entry(topic))).result(ASK_S))
        except KafkaException as exc:
            raise StackError(f"asking who has access to {topic} failed: {exc}") from exc

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def _entry(self, topic: str) -> tuple[Any, ...]:
        # Who may read a topic may describe it, too.
        whose = (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{USER}", "*")
        return (*whose, AclOperation.READ, AclPermissionType.ALLOW)


def _settle(answers: Mapping[Any, Future[Any]], doing: str) -> None:
    try:
        for answer in answers.values():
            answer.result(ASK_S)
    except KafkaException as exc:
        raise StackError(f"{doing} failed: {exc}") from exc
