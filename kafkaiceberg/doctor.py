"""The command `kafkaiceberg doctor`: its arguments, its text and its exit codes.

Examining is `federation.doctor`; here a report becomes words on a terminal.
Nothing is printed here and nothing judged.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, Final

from federation.doctor import LOOK_BACK, Report, Severity, kind_of
from federation.errors import OptionError

# Apart from the codes of failing, so that a script can tell a sick table from no answer.
EXIT: Final = {Severity.INFO: 0, Severity.WARNING: 10, Severity.ERROR: 11}

_WIDTH: Final = 110
_INDENT: Final = " " * 9


def add_doctor(commands: Any, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    """Add the command and return its parser."""
    doctor: argparse.ArgumentParser = commands.add_parser(
        "doctor",
        help="say what is wrong with a table",
        description="Examine a table and its topic: records and files that are there twice, holes, "
        "boundaries that go back or are about to be lost, retention about to pass the boundary, a writer "
        "that began late, filters, or reads with another isolation. Only --repair --yes changes anything.",
        epilog=f"Exit codes: {EXIT[Severity.INFO]} nothing to worry about, {EXIT[Severity.WARNING]} "
        f"warnings, or checks that failed, {EXIT[Severity.ERROR]} errors; without a report 2 the caller's "
        "mistake, 3 a service in the way, 1 ours. DOCTOR.md says what to do about each finding.",
    )
    doctor.add_argument("table", help="namespace.name")
    doctor.add_argument("--json", action="store_true", help="print JSON")
    doctor.add_argument(
        "--look-back",
        metavar="N",
        default=str(LOOK_BACK),
        help="read at most so many offsets per partition from Kafka (default: %(default)s)",
    )
    doctor.add_argument(
        "--warn-within",
        metavar="TIME",
        default="1h",
        help="warn if retention may pass the boundary within this time (default: %(default)s)",
    )
    doctor.add_argument(
        "--repair",
        action="store_true",
        help="where nothing proves what the table holds, show what a person may write down",
    )
    doctor.add_argument("--yes", action="store_true", help="write what --repair shows")
    doctor.set_defaults(run=run)
    return doctor


def repair_table(options: Mapping[str, str], *, is_meant: bool) -> str:
    """Return what a repair would write down, or what it has written.

    Args:
        options: From `merge_options`.
        is_meant: Whether it is to be written.

    Raises:
        KafkaIcebergError: As `plan_repair` and `write_repair`.
    """
    from federation.doctor import plan_repair, write_repair

    plan = plan_repair(options)
    name, topic = plan.found.definition.name, plan.found.bounds.topic
    offsets = ", ".join(
        f"{partition}: {offset}" for partition, offset in sorted(plan.told.next_offset.items())
    )
    held = f"topic {topic} below {offsets} (partition: offset)"
    if is_meant:
        return f"{name}: snapshot {write_repair(plan)} says that the table holds {held}"
    return "\n".join(
        [
            f"{name}: the boundary of snapshot {plan.found.pinned.snapshot_id} is not proven",
            f"At {plan.told.provenance}, the table held {held}.",
            "If the snapshot is built on that one, and holds nothing more of the topic, write it down, in a "
            "commit without rows:",
            f"  kafkaiceberg doctor {name} --repair --yes",
        ]
    )


def parse_look_back(text: str) -> int:
    """Return the value of `--look-back`.

    Raises:
        OptionError: It is no whole number above zero.
    """
    if not text.isdecimal() or int(text) == 0:
        raise OptionError(f"--look-back wants a whole number above zero, not {text!r}")
    return int(text)


def render_report(report: Report) -> str:
    """Return a report as text: findings, what was not checked, and what was found in order."""
    lines = [f"{report.table}: snapshot {report.snapshot_id}, topic {report.topic}"]
    for finding in report.findings:
        kind = kind_of(finding.code)
        lines.append(f"{finding.severity.word:<8} {finding.code}: {finding.message}")
        if finding.severity > Severity.INFO:
            lines.extend(textwrap.wrap(f"{kind.meaning} See {kind.page}", _WIDTH - len(_INDENT), **_AS_IS))
    for one in report.unchecked:
        word = "failed" if one.is_failure else "skipped"
        lines.append(f"{word:<8} not checked: {', '.join(one.codes)}: {one.why}")
    if report.silent:
        lines.append(f"{'fine':<8} {', '.join(report.silent)}")
    return "\n".join(lines)


_AS_IS: Final[dict[str, Any]] = {
    "initial_indent": _INDENT,
    "subsequent_indent": _INDENT,
    "break_long_words": False,
    "break_on_hyphens": False,
}
