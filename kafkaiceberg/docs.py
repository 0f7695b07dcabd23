"""OPTIONS.md and ERRORS.md, rendered from the tables and classes in the code.

A test compares the files with this, so they cannot go stale.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import coldset.errors
import federation.errors
import hotset.errors
import pipeline.errors
import sql_gateway.errors
from federation.options import OPTIONS, PASSTHROUGH, Option
from hotset.properties import ALLOWED
from sql_gateway.settings import SETTINGS

_ROOTS = (
    hotset.errors.HotsetError,
    coldset.errors.ColdsetError,
    federation.errors.FederationError,
    pipeline.errors.PipelineError,
    sql_gateway.errors.GatewayError,
)


def pages() -> dict[str, str]:
    """Return the rendered pages by file name.

    Raises:
        Nothing of its own.
    """
    return {"OPTIONS.md": _options_page(), "ERRORS.md": _errors_page()}


def error_classes() -> list[Any]:
    """Return every error class that users can meet, roots left out, by code.

    Raises:
        Nothing of its own.
    """
    found: list[Any] = [cls for root in _ROOTS for cls in _below(root)]
    return sorted(found, key=_code)


def _code(cls: Any) -> str:
    return str(cls.code)


def _below(root: type) -> Iterator[Any]:
    below: list[type] = root.__subclasses__()
    for cls in below:
        yield cls
        yield from _below(cls)


def _options_page() -> str:
    lines = [
        "# Options",
        "",
        "Rendered from the code by `make docs`.",
        "",
        "Options of a table are given as Spark options, in `kafkaiceberg.toml` (`[defaults]` and",
        '`[tables."namespace.name"]`), with `-o name=value` on the command line, and, where the last',
        "column says so,",
        "as the Iceberg table property `kafkaiceberg.<name>`. A read option wins over the file, the",
        "file over the",
        "table property. Names compare without case. An unknown option is an error.",
        "",
        "Secrets are references, `${env:NAME}` or `${file:/path}`, resolved in the process that connects.",
        "",
        "## Options of a table",
        "",
        *_table(OPTIONS, with_property=True),
        *(f"| `{prefix}<property>` | string | | {text} | no |" for prefix, text in PASSTHROUGH.items()),
        "",
        "Kafka properties that may be set, by librdkafka's names and meanings:",
        ", ".join(f"`{name}`" for name in sorted(ALLOWED)) + ".",
        "",
        "## Settings of the gateway",
        "",
        "In section `[gateway]` of `kafkaiceberg.toml`.",
        "",
        *_table(SETTINGS, with_property=False),
    ]
    return "\n".join(lines) + "\n"


def _table(options: tuple[Option, ...], *, with_property: bool) -> Iterator[str]:
    yield "| name | type | default | meaning |" + (" table property |" if with_property else "")
    yield "| --- | --- | --- | --- |" + (" --- |" if with_property else "")
    for option in options:
        default = "" if option.default is None else f"`{option.default}`"
        choices = f" One of {', '.join(f'`{c}`' for c in option.choices)}." if option.choices else ""
        row = f"| `{option.name}` | {option.type} | {default} | {option.help}{choices} |"
        yield row + (f" {'yes' if option.may_be_table_property else 'no'} |" if with_property else "")


def _errors_page() -> str:
    lines = [
        "# Errors",
        "",
        "Rendered from the code by `make docs`.",
        "",
        "`code` is stable. `kind` says whose problem it is: the `user`'s (HTTP 400), something",
        "`external` in the way",
        "(503), or `internal`, ours (500). A `retriable` error may go away if the same is asked again.",
        "",
        "| code | kind | retriable | meaning | class |",
        "| --- | --- | --- | --- | --- |",
    ]
    for cls in error_classes():
        meaning = (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")
        retriable = "yes" if cls.retriable else "no"
        lines.append(
            f"| `{cls.code}` | {cls.kind} | {retriable} | {meaning} | `{cls.__module__}.{cls.__name__}` |"
        )
    return "\n".join(lines) + "\n"
