"""What the extras of the package bring, and the one sentence that is said where one is missing.

A plain install reads tables by library, embedded engine and command line; the rest is asked for at install.
Whatever needs an extra asks here first, so that nobody meets an import that fails.
"""

from __future__ import annotations

import importlib.util
from typing import Final

from foundation.errors import ExtraMissingError

# Each extra of pyproject.toml, and the modules by which one sees that it is there.
EXTRAS: Final = {
    "gateway": ("flask", "waitress"),
    "postgres": ("psycopg2",),
    "protobuf": ("google.protobuf", "grpc_tools"),
    "spark": ("pyspark",),
}


def require_extra(extra: str, what: str) -> None:
    """Raise unless what an extra brings is installed.

    Args:
        extra: One of `EXTRAS`.
        what: Who needs it, for the message.

    Raises:
        ExtraMissingError: A module of it is not there.
    """
    if lack := describe_lack(extra):
        raise ExtraMissingError(f"{what} needs {lack}", extra=extra)


def describe_lack(extra: str) -> str | None:
    """Return what is missing of an extra and how to install it, or None if all of it is there."""
    missing = [name for name in EXTRAS[extra] if not _is_there(name)]
    if not missing:
        return None
    return (
        f"the extra {extra!r}, of which {' and '.join(missing)} cannot be imported; run "
        f"pip install 'kafkaiceberg[{extra}]'"
    )


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the package around it
        return False
