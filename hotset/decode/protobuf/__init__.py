"""Protobuf records to Arrow, by the schema that each record was written with.

`descriptors` turns the text of a registered schema into descriptors, `protobuf_plan` says which field becomes
which column, `messages` finds the message type of each record, and `protobuf_python` decodes. Nothing here
must know of frames, registries or topics.
"""

from hotset.decode.protobuf.protobuf_compiler import compile_protobuf

__all__ = ["compile_protobuf"]
