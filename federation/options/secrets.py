"""Secrets by reference: what travels is where a secret is, never what it is.

`${env:NAME}` and `${file:/path}` are resolved in the process that connects or
opens files, right before it does, so plans, splits, pickles, logs and errors hold
only the reference. This file must not keep or print what it resolved.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from coldset.table import storage_of
from federation.errors import OptionError
from hotset.kafka import SECRET_KAFKA_PROPERTIES
from hotset.registry import SECRET_REGISTRY_PROPERTIES

_REFERENCE: Final = re.compile(r"\$\{(env|file):([^}]+)\}")
_PASSWORD_IN_URI: Final = re.compile(r"://[^/@\s:]*:(?!\$\{)[^/@\s]+@")
_SECRET_WORDS: Final = (
    "authorization",
    "connection-string",
    "password",
    "secret",
    "token",
    "credential",
    "access-key",
    "account-key",
    "sas-token",
)


def is_secret(key: str) -> bool:
    """Return True if an option of this name holds a secret."""
    name = key.lower()
    return (
        name.removeprefix("kafka.") in SECRET_KAFKA_PROPERTIES
        or name.removeprefix("schema.registry.") in SECRET_REGISTRY_PROPERTIES
        or any(word in name for word in _SECRET_WORDS)
    )


def require_reference(key: str, value: str) -> None:
    """Raise if a secret option holds the secret itself.

    Raises:
        OptionError: It does. The message does not repeat the value.
    """
    if _PASSWORD_IN_URI.search(value):
        raise OptionError(
            f"option {key!r} has a password in its address; write a reference in its place, ${{env:NAME}}",
            option=key,
        )
    if is_secret(key) and not _REFERENCE.fullmatch(value):
        raise OptionError(
            f"option {key!r} is a secret and must be a reference: ${{env:NAME}} or ${{file:/path}}",
            option=key,
        )


def resolve(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties with every reference replaced by what it names.

    Raises:
        OptionError: A reference names nothing that is there.
    """
    return {key: _REFERENCE.sub(partial(_look_up, key), value) for key, value in properties.items()}


def storage_for(catalog_name: str, properties: Mapping[str, str], table: str) -> dict[str, str]:
    """Return pyiceberg's properties for reaching a table's files.

    Args:
        catalog_name: The catalog, as pyiceberg names it.
        properties: Its properties; secrets by reference.
        table: The table's identifier.

    Raises:
        OptionError: A secret's reference names nothing here.
        CatalogConfigError, CatalogUnavailableError, TableNotFoundError: As for `coldset.storage_of`.
    """
    return storage_of(catalog_name, resolve(properties), table)


def _look_up(key: str, match: re.Match[str]) -> str:
    kind, where = match.groups()
    if kind == "env":
        if where not in os.environ:
            raise OptionError(
                f"option {key!r} refers to environment variable {where}, which is not set here",
                option=key,
            )
        return os.environ[where]
    try:
        return Path(where).read_text(encoding="utf-8").rstrip("\n")
    except OSError as exc:
        raise OptionError(
            f"option {key!r} refers to file {where}, which cannot be read here ({exc.strerror})",
            option=key,
        ) from exc
