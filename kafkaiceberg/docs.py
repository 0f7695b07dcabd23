"""OPTIONS.md, ERRORS.md and DOCTOR.md, rendered from the tables and classes in the code.

A test compares the files with this, so they cannot go stale.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from typing import Any

import coldset.errors  # noqa: F401  so that its classes are there; so below
import federation.errors  # noqa: F401
import hotset.errors  # noqa: F401
import pipeline.errors  # noqa: F401
import sql_gateway.errors  # noqa: F401
from federation.doctor import KINDS
from federation.options import OPTIONS, Option
from foundation.errors import KafkaIcebergError
from hotset.kafka import ALLOWED_KAFKA_PROPERTIES
from kafkaiceberg.doctor import EXIT
from sql_gateway.settings import SETTINGS


def pages() -> dict[str, str]:
    """Return the rendered pages by file name."""
    return {"OPTIONS.md": _options_page(), "ERRORS.md": _errors_page(), "DOCTOR.md": _doctor_page()}


def error_classes() -> list[Any]:
    """Return every error class that users can meet, roots of trees left out, by code."""
    roots = {cls for cls in KafkaIcebergError.__subclasses__() if cls.__subclasses__()}
    return sorted((cls for cls in _below(KafkaIcebergError) if cls not in roots), key=_code)


def _code(cls: Any) -> str:
    return str(cls.code)


def _below(root: type) -> Iterator[Any]:
    below: list[Any] = root.__subclasses__()
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
        *_table(OPTIONS.declared, with_property=True),
        *(
            f"| `{prefix}<property>` | string | | {text} | no |"
            for prefix, text in OPTIONS.passthrough.items()
        ),
        "",
        "Kafka properties that may be set, by librdkafka's names and meanings:",
        ", ".join(f"`{name}`" for name in sorted(ALLOWED_KAFKA_PROPERTIES)) + ".",
        "",
        "## Settings of the gateway",
        "",
        "In section `[gateway]` of `kafkaiceberg.toml`.",
        "",
        *_table(SETTINGS.declared, with_property=False),
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


def _doctor_page() -> str:
    exits = ", ".join(f"{code} if the worst is {severity.word}" for severity, code in EXIT.items())
    paragraphs = [
        "# Doctor",
        "Rendered from the code by `make docs`.",
        "`kafkaiceberg doctor TABLE` examines a table and its topic, says what is wrong or soon will be, and "
        "changes nothing. `--json` prints the same for programs: `worst`, and lists of `findings` (`code`, "
        "`severity`, `message`, `meaning`, `page`, `facts`), of what is `unchecked` (`codes`, `why`, "
        "`is_failure`), and of codes that were looked for and are `silent`. Codes are stable; facts may be "
        "added.",
        f"Exit codes: {exits}. If there is no report at all they are those of the other commands: 2 for the "
        "caller's mistake, 3 for a service in the way, 1 for ours.",
        "What could not be checked is said, never passed over: as a warning if it was tried and failed "
        "(Kafka did not answer), and without weight if there is nothing to check it by (no Kafka columns) or "
        "a limit ended the search.",
        "Two columns of the whole snapshot are read, if the table names its Kafka columns; memory grows with "
        "the holes in the offsets, not with the rows. Of Kafka, at most `--look-back` offsets per partition "
        "are read.",
    ]
    for kind in KINDS:
        paragraphs += [
            f"## {kind.code}",
            f"Severity: {kind.severities}. {kind.meaning}",
            f"**How it is looked for.** {kind.method}",
            f"**What to do.** {kind.advice}",
        ]
    return "\n\n".join(map(_wrapped, paragraphs)) + "\n"


def _wrapped(paragraph: str) -> str:
    return textwrap.fill(paragraph, 110, break_long_words=False, break_on_hyphens=False)
