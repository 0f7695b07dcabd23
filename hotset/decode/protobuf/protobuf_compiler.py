"""Protobuf records to Arrow, by the schema that each record was written with.

`descriptors` turns the text of a registered schema into descriptors, `protobuf_plan` says
which field becomes which column, `messages` finds the message type of each
record, and `protobuf_python` decodes. Nothing here must know of frames, registries or
topics, and nothing but this file may be imported where Protobuf is not installed.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from foundation.extras import describe_lack
from hotset.decode.decoded import Decoded
from hotset.errors import UnsupportedFormatError
from hotset.registry import RegisteredSchema

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
    if lack := describe_lack("protobuf"):
        raise UnsupportedFormatError(f"Protobuf needs {lack}")
    from hotset.decode.protobuf.messages import compile_messages

    return compile_messages(writer, schema)
