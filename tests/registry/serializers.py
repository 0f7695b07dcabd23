"""Records as Confluent's own serializers make them, registering their schemas on the way.

Each function takes what the serializer of its format takes, and returns the bytes it made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

Payloads = list[bytes]


def register(url: str, subject: str, kind: str, text: str, references: Sequence[SchemaReference] = ()) -> int:
    """Register a schema alone, for others to refer to, and return its id."""
    return SchemaRegistryClient({"url": url}).register_schema(subject, Schema(text, kind, list(references)))


def in_avro(
    url: str, topic: str, text: str, values: Iterable[Any], references: Sequence[SchemaReference] = ()
) -> Payloads:
    client = SchemaRegistryClient({"url": url})
    return _all(AvroSerializer(client, Schema(text, "AVRO", list(references))), topic, values)


def in_json_schema(
    url: str,
    topic: str,
    text: str,
    values: Iterable[Any],
    references: Sequence[SchemaReference] = (),
    field: str = MessageField.VALUE,
) -> Payloads:
    client = SchemaRegistryClient({"url": url})
    return _all(JSONSerializer(Schema(text, "JSON", list(references)), client), topic, values, field)


def in_protobuf(url: str, topic: str, messages: Sequence[Any]) -> Payloads:
    client = SchemaRegistryClient({"url": url})
    settings = {"use.deprecated.format": False}
    return _all(ProtobufSerializer(type(messages[0]), client, settings), topic, messages)


def with_id_in_header(payload: bytes) -> tuple[None, bytes, list[tuple[str, bytes]]]:
    """The record that carries a frame's schema id in its header instead."""
    return None, payload[5:], [("__value_schema_id", payload[:5])]


def framed(payloads: Iterable[bytes]) -> list[tuple[None, bytes, list[tuple[str, bytes]]]]:
    return [(None, payload, []) for payload in payloads]


def _all(serializer: Any, topic: str, values: Iterable[Any], field: str = MessageField.VALUE) -> Payloads:
    return [serializer(value, SerializationContext(topic, field)) for value in values]
