"""The part of the build that pyproject.toml has no stable words for: optional modules in C.

Where one does not compile the install goes on without it, and what it does is done in Python. Everything
else about the package is said in pyproject.toml.
"""

from __future__ import annotations

from pathlib import Path

from setuptools import Extension, setup

FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-fvisibility=hidden"]
ARROW = "hotset/native/arrow"


def module(name: str, *folders: str) -> Extension:
    """Return a module of all C files in some folders."""
    return Extension(
        name,
        sources=_files("*.c", folders),
        depends=_files("*.h", folders),
        extra_compile_args=FLAGS,
        optional=True,
    )


def _files(pattern: str, folders: tuple[str, ...]) -> list[str]:
    return sorted(file.as_posix() for folder in folders for file in Path(folder).glob(pattern))


setup(
    ext_modules=[
        module("hotset.decode.avro._interpreter", "hotset/native/avro", ARROW),
        module("hotset.decode.json._json", "hotset/native/json", ARROW),
        module("hotset.decode.protobuf._wire", "hotset/native/protobuf", ARROW),
        module("hotset.native._reader", "hotset/native"),
    ]
)
