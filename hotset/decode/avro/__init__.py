"""Avro records to Arrow, by the schema that each record was written with.

`avro_schema` parses, `avro_plan` writes a program for the columns wanted, and one of two interpreters runs
it: C where the extension was built, else Python, with the same result. Nothing here must know of frames,
registries or topics.
"""

from hotset.decode.avro.avro_compiler import compile_avro
from hotset.decode.avro.match_schemas import Known

__all__ = ["Known", "compile_avro"]
