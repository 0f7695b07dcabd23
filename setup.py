"""The part of the build that pyproject.toml has no stable words for: optional modules in C.

Where one does not compile the install goes on without it, and what it does is done in Python. Everything
else about the package is said in pyproject.toml.
"""

from __future__ import annotations

from setuptools import Extension, setup

FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-fvisibility=hidden"]


def module(name: str, folder: str, sources: str, headers: str) -> Extension:
    """Return a module of the C files in one folder."""
    return Extension(
        name,
        sources=[f"{folder}/{source}.c" for source in sources.split()],
        depends=[f"{folder}/{header}.h" for header in headers.split()],
        extra_compile_args=FLAGS,
        optional=True,
    )


setup(
    ext_modules=[
        module(
            "hotset.decode.avro._interpreter",
            "hotset/native/avro",
            sources="module interpreter cursor builders values keys check",
            headers="interpreter builders values keys cursor program",
        ),
        module(
            "hotset.decode.protobuf._wire",
            "hotset/native/protobuf",
            sources="module scan emit utf8 builders",
            headers="program builders",
        ),
        module(
            "hotset.native._reader",
            "hotset/native",
            sources="module reader columns librdkafka",
            headers="reader columns librdkafka",
        ),
    ]
)
