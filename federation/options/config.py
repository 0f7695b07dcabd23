"""Read `kafkaiceberg.toml`: which tables there are, and their options.

    [defaults]                       options of every table
    kafka.bootstrap.servers = "broker:9092"
    kafka.sasl.password = "${env:KAFKA_PASSWORD}"
    catalog.type = "rest"

    [tables."lake.orders"]           a federated table and its own options
    subscribe = "orders"

    [gateway]                        settings of the HTTP gateway
    port = 8765

The file holds references to secrets, never secrets. This module reads that one
file and nothing else.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from federation.errors import OptionError
from federation.options.option_table import OPTIONS

CONFIG_VARIABLE: Final = "KAFKAICEBERG_CONFIG"
CONFIG_NAME: Final = "kafkaiceberg.toml"


@dataclass(frozen=True, slots=True)
class Config:
    """The parsed configuration file.

    Attributes:
        defaults: Options of every table.
        tables: Table name to its own options.
        gateway: Gateway settings as text, not yet checked.
        source: Where it was read from, or None if there is no file.
    """

    defaults: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    gateway: Mapping[str, str] = field(default_factory=dict)
    source: Path | None = None

    def options_of(self, name: str) -> dict[str, str]:
        """Return the options the file gives a table, its own over the defaults."""
        return {**self.defaults, **self.tables.get(name, {})}


def load_config(path: str | Path | None = None) -> Config:
    """Read the configuration file, if there is one.

    Args:
        path: The file; else the one `KAFKAICEBERG_CONFIG` names; else
            `kafkaiceberg.toml` in the working directory, which may be absent.

    Raises:
        OptionError: A file that was named is missing, or a file is malformed.
    """
    named = path or os.environ.get(CONFIG_VARIABLE)
    source = Path(named or CONFIG_NAME)
    if not source.exists():
        if named is None:
            return Config()
        raise OptionError(f"configuration file {source} does not exist")
    try:
        document = tomllib.loads(source.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise OptionError(f"configuration file {source} cannot be read: {exc}") from exc
    for section in document:
        if section not in ("defaults", "tables", "gateway"):
            raise OptionError(f"configuration file {source} has a section [{section}], which means nothing")
    sections = {name: _section(document, name, source) for name in ("defaults", "tables", "gateway")}
    tables = {name: _flat(_section(sections["tables"], name, source)) for name in sections["tables"]}
    defaults = _flat(sections["defaults"])
    for options in (defaults, *tables.values()):
        OPTIONS.check(options)
    return Config(defaults, tables, _flat(sections["gateway"]), source)


def note_absence() -> str:
    """Return what to add to an error about options that are missing: that there is no file, if so."""
    if os.environ.get(CONFIG_VARIABLE) or Path(CONFIG_NAME).exists():
        return ""
    return f"; there is no {CONFIG_NAME} in {Path.cwd()}"


def _section(parent: Mapping[str, Any], name: str, source: Path) -> Mapping[str, Any]:
    found = parent.get(name, {})
    if not isinstance(found, dict):
        raise OptionError(f"configuration file {source}: {name!r} must be a section with options in it")
    return found


def _flat(section: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    # TOML reads a dotted key as nested tables; option names have dots in them.
    flat: dict[str, str] = {}
    for key, value in section.items():
        if isinstance(value, dict):
            flat.update(_flat(value, f"{prefix}{key}."))
        elif isinstance(value, bool):
            flat[prefix + key] = "true" if value else "false"
        elif isinstance(value, list):
            flat[prefix + key] = ",".join(str(item) for item in value)
        else:
            flat[prefix + key] = str(value)
    return flat
