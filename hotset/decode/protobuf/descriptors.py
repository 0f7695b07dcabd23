"""From the text of a Protobuf schema to descriptors.

A registry hands out what a producer registered: the text of a `.proto` file, or
a serialized `FileDescriptorProto` in base64, and the same for each import. The
compiler of grpcio-tools reads both. It runs as a program of its own, so that a
text which was made to hurt it cannot hurt us. This file must not know columns.
"""

from __future__ import annotations

import base64
import binascii
import re
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Final

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError as ProtobufDecodeError

from hotset.errors import SchemaMismatchError, UnsupportedFormatError
from hotset.registry import RegisteredSchema

_TIMEOUT_S: Final = 30
# What the compiler logs beside what it says.
_LOGGED: Final = re.compile(r"WARNING: All log messages|[IWEF][0-9]{4} ")

# What registries and converters know without a reference. The compiler brings google/protobuf/*.
_KNOWN: Final = {
    "confluent/meta.proto": (
        'syntax = "proto3"; package confluent; import "google/protobuf/descriptor.proto"; '
        "message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; } "
        "extend google.protobuf.FileOptions { Meta file_meta = 1088; } "
        "extend google.protobuf.MessageOptions { Meta message_meta = 1088; } "
        "extend google.protobuf.FieldOptions { Meta field_meta = 1088; } "
        "extend google.protobuf.EnumOptions { Meta enum_meta = 1088; } "
        "extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }"
    ),
    "confluent/type/decimal.proto": (
        'syntax = "proto3"; package confluent.type; '
        "message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"
    ),
    "google/type/date.proto": (
        'syntax = "proto3"; package google.type; '
        "message Date { int32 year = 1; int32 month = 2; int32 day = 3; }"
    ),
    "google/type/timeofday.proto": (
        'syntax = "proto3"; package google.type; '
        "message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }"
    ),
}


def describe(writer: RegisteredSchema) -> FileDescriptor:
    """Return the descriptor of a schema's own file.

    Raises:
        SchemaMismatchError: The schema is no Protobuf, or imports what nobody has.
        UnsupportedFormatError: The runtime is one that deep records can exhaust.
    """
    files = _files(writer)
    root = "schema.proto"
    while root in files:
        root = f"_{root}"
    return _described(root, tuple(sorted({**files, root: writer.text}.items())))


def _files(writer: RegisteredSchema) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, schema in writer.references:
        for each, text in {**_files(schema), name: schema.text}.items():
            if found.setdefault(each, text) != text:
                raise SchemaMismatchError(
                    f"the Protobuf schema imports two different files by the name {each!r}; register it "
                    "with one version of each reference",
                    name=each,
                )
    return found


@lru_cache(maxsize=256)
def _described(root: str, files: tuple[tuple[str, str], ...]) -> FileDescriptor:
    pool = DescriptorPool()
    try:
        for file in FileDescriptorSet.FromString(_compile(root, dict(files))).file:
            pool.Add(file)
        return pool.FindFileByName(root)
    except (TypeError, KeyError) as exc:
        raise SchemaMismatchError(
            f"the Protobuf schema does not describe messages ({exc}); correct it in the registry"
        ) from exc


def _compile(root: str, files: dict[str, str]) -> bytes:
    _check_runtime()
    with tempfile.TemporaryDirectory(prefix="kafkaiceberg-protobuf-") as folder:
        base = Path(folder)
        described = FileDescriptorSet()
        for name, text in {**_KNOWN, **files}.items():
            serialized = _serialized(text)
            if serialized is None:
                _write(base / "text", name, text)
            else:
                serialized.name = name
                described.file.append(serialized)
        (base / "text").mkdir(exist_ok=True)
        (base / "in").write_bytes(described.SerializeToString())
        _run(base, root, has_serialized=bool(described.file))
        return (base / "out").read_bytes()


def _check_runtime() -> None:
    if api_implementation.Type() == "python":
        raise UnsupportedFormatError(
            "the installed protobuf package runs in pure Python, which deep records can exhaust; install one "
            "with its native part, and leave PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION unset"
        )


def _serialized(text: str) -> FileDescriptorProto | None:
    try:
        return FileDescriptorProto.FromString(base64.b64decode(text.strip(), validate=True))
    except (binascii.Error, ValueError, ProtobufDecodeError):
        return None


def _write(base: Path, name: str, text: str) -> None:
    relative = PurePosixPath(name)
    if relative.is_absolute() or ".." in relative.parts or "\0" in name or not relative.parts:
        raise SchemaMismatchError(
            f"the Protobuf schema imports {name!r}, which is no name of a file; correct its references",
            name=name,
        )
    try:
        (base / relative).parent.mkdir(parents=True, exist_ok=True)
        (base / relative).write_text(text, encoding="utf-8")
    except (OSError, UnicodeEncodeError) as exc:
        raise SchemaMismatchError(
            f"the Protobuf schema has a file {name!r} that cannot be compiled ({exc}); correct its "
            "references",
            name=name,
        ) from exc


def _run(base: Path, root: str, *, has_serialized: bool) -> None:
    # -P: files of the schema are no modules of Python's, whatever their names are.
    command = [sys.executable, "-P", "-m", "grpc_tools.protoc", "-I", str(base / "text")]
    if has_serialized:
        command.append(f"--descriptor_set_in={base / 'in'}")
    command += ["--include_imports", f"--descriptor_set_out={base / 'out'}", root]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, cwd=base, check=False)
    except subprocess.TimeoutExpired as exc:
        raise SchemaMismatchError(
            f"the Protobuf schema was not compiled within {_TIMEOUT_S} s; correct it in the registry"
        ) from exc
    if done.returncode:
        said = done.stderr.decode(errors="replace").replace(f"{base}/text/", "").splitlines()
        about = [line.strip() for line in said if line.strip() and not _LOGGED.match(line)]
        raise SchemaMismatchError(
            f"the Protobuf schema does not compile ({'; '.join(about[:3]) or f'exit {done.returncode}'}); "
            "correct it in the registry, or register what it imports as references"
        )
