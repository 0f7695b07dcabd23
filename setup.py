"""The part of the build that pyproject.toml has no stable words for: optional modules in C.

Where one does not compile the install goes on without it, and what it does is done in Python. Everything
else about the package is said in pyproject.toml.
"""

from __future__ import annotations

from setuptools import Extension, setup

FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-fvisibility=hidden"]


ARROW = "hotset/native/arrow"


def module(name: str, folder: str, sources: str, headers: str, arrow: str = "") -> Extension:
    """Return a module of the C files in one folder, and of some of those that all may use."""
    shared = [f"{ARROW}/{each}" for each in arrow.split()]
    return Extension(
        name,
        sources=[f"{folder}/{source}.c" for source in sources.split()] + [f"{each}.c" for each in shared],
        depends=[f"{folder}/{header}.h" for header in headers.split()] + [f"{each}.h" for each in shared],
        extra_compile_args=FLAGS,
        optional=True,
    )


setup(
    ext_modules=[
        module(
            "hotset.decode.avro._interpreter",
            "hotset/native/avro",
            sources="module interpreter cursor values check",
            headers="interpreter values cursor program",
            arrow="builders keys memory utf8",
        ),
        module(
            "hotset.decode._json",
            "hotset/native/json",
            sources="module reader skip names numbers times text check",
            headers="reader cursor names numbers times text program",
            arrow="builders keys memory utf8",
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
