"""Protobuf records to Arrow, by the schema that each record was written with.

`descriptors` turns the text of a registered schema into descriptors, `protobuf_plan` says
which field becomes which column, `messages` finds the message type of each
record, and `protobuf_python` decodes. Nothing here must know of frames, registries or
topics, and nothing but this file may be imported where Protobuf is not installed.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Final

import pyarrow as pa

from hotset.decode.decoded import Decoded
from hotset.errors import UnsupportedFormatError
from hotset.registry import RegisteredSchema

_NEEDED: Final = ("google", "google.protobuf", "grpc_tools")

__all__ = ["compile_protobuf"]


def compile_protobuf(writer: RegisteredSchema, schema: pa.Schema) -> Callable[[pa.BinaryArray], Decoded]:
    """Return the decoder of bodies that were written with one schema.

    A body is a message with its message index before it.

    Args:
        writer: The schema, with what it imports.
        schema: The columns wanted, which are matched to fields by name.

    Raises:
        SchemaMismatchError: No message type of the schema can be a row.
        UnsupportedFormatError: What Protobuf needs is not installed.
    """
    if any(importlib.util.find_spec(name) is None for name in _NEEDED):
        raise UnsupportedFormatError(
            "Protobuf needs the packages protobuf and grpcio-tools; install kafkaiceberg[protobuf]"
        )
    from hotset.decode.protobuf.messages import compile_messages

    return compile_messages(writer, schema)
