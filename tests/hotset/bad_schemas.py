"""The schemas that good and bad payloads name by their ids, and a registry that knows them.

What the payloads are is told beside this. Nothing here encodes or decodes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from hotset.registry.registry_client import SchemaRegistry
from hotset.registry.registry_settings import parse_registry
from tests.hotset.avro_records import record_of
from tests.hotset.small_registry import small_registry

_PROTO: Final = """
syntax = "proto3";
message O {
  optional uint64 id = 1;
  string note = 2;
  message A { int64 x = 1; }
  A at = 3;
}
"""
_PROTO_OF_TEXT: Final = 'syntax = "proto3"; message O { string id = 1; }'


_INSIDE: Final[Any] = record_of(("x", "long"), name="a")

# Each id that a record names, and the kind and text of its schema.
SCHEMAS: Final = {
    1: ("JSON", '{"type": "object", "properties": {}}'),
    2: (
        "AVRO",
        json.dumps(record_of(("id", ["null", "long"]), ("note", ["null", "string"]), ("at", _INSIDE))),
    ),
    3: ("AVRO", json.dumps(record_of(("id", "double")))),
    4: ("AVRO", json.dumps(record_of(("id", "string")))),
    5: ("PROTOBUF", _PROTO),
    6: ("PROTOBUF", _PROTO_OF_TEXT),
}


@contextmanager
def registry() -> Iterator[SchemaRegistry]:
    """A registry that knows the schemas of all of these records."""
    with small_registry() as server:
        for number, (kind, text) in SCHEMAS.items():
            server.knows(f"/schemas/ids/{number}", text, kind)
        yield SchemaRegistry(parse_registry({"url": server.url}))
