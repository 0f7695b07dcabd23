"""The part of the build that pyproject.toml has no stable words for: optional modules in C.

Where one does not compile the install goes on without it, and what it does is done in Python. Everything
else about the package is said in pyproject.toml.
"""

from __future__ import annotations

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "hotset.decode.protobuf._wire",
            sources=[
                f"hotset/native/protobuf/{name}.c" for name in ("module", "scan", "emit", "utf8", "builders")
            ],
            depends=[f"hotset/native/protobuf/{name}.h" for name in ("program", "builders")],
            extra_compile_args=["-std=c11", "-Wall", "-Wextra", "-fvisibility=hidden"],
            optional=True,
        ),
    ]
)
