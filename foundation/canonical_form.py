"""Values in words that are equal for equal values, in any process.

It is for names and keys; nothing is read back from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def canonical(value: Any) -> str:
    """Return the words for a value of plain types, mappings and dataclasses of such."""
    if is_dataclass(value) and not isinstance(value, type):
        return f"{type(value).__name__}{canonical({f.name: getattr(value, f.name) for f in fields(value)})}"
    if isinstance(value, Mapping):
        return "{" + ",".join(sorted(f"{canonical(k)}:{canonical(v)}" for k, v in value.items())) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(canonical, value)) + "]"
    return f"{type(value).__name__}:{value!r}"
