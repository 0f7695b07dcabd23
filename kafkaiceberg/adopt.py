"""The command `kafkaiceberg adopt`: its arguments and its text.

Adopting is `federation.adopt`, imported when it is asked for; here what may be said of a table becomes words
on a terminal. Nothing is printed here and nothing decided.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kafkaiceberg.render import text_table

if TYPE_CHECKING:
    from federation.adopt import Adoptable


def add_adopt(commands: Any, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
    """Add the command and return its parser."""
    adopt: argparse.ArgumentParser = commands.add_parser(
        "adopt",
        help="say once what an existing table holds",
        description="Declare which records of its topic an existing table holds, where its writer has left "
        "no trace of that. Without --from nothing is written, and the choices are shown. Stop whatever "
        "writes to the table first; afterwards `kafkaiceberg freeze` fills it.",
    )
    adopt.add_argument("table", help="namespace.name")
    adopt.add_argument(
        "--from",
        dest="start",
        metavar="OFFSETS",
        help="earliest: the table holds none of the records that the topic has; latest: it holds all of "
        "them; '{\"0\": 120}': per partition, the first offset that it does not hold",
    )
    adopt.set_defaults(run=run)
    return adopt


def adopt_table(options: Mapping[str, str], start: str | None) -> str:
    """Adopt a table, or show what may be said of it, and return what to tell.

    Args:
        options: From `merge_options`.
        start: What a person says; None to show the choices.

    Raises:
        KafkaIcebergError: As `find_adoptable`, `choose_offsets` and `adopt`.
    """
    from federation.adopt import adopt, choose_offsets, find_adoptable

    found = find_adoptable(options)
    if start is None:
        return _render_choices(found)
    chosen = choose_offsets(found, start)
    held = ", ".join(f"{partition}: {offset}" for partition, offset in sorted(chosen.items()))
    return (
        f"{found.definition.name}: snapshot {adopt(found, chosen)} says that the table holds the records of "
        f"topic {found.bounds.topic} below {held} (partition: offset)"
    )


def _render_choices(found: Adoptable) -> str:
    name, partitions = found.definition.name, found.bounds.partitions
    rows = [[str(n) for n in (p.partition, p.log_start, p.end)] for p in partitions]
    example = json.dumps({str(p.partition): p.end for p in partitions})
    command = f"kafkaiceberg adopt {name} --from"
    count = "" if found.rows is None else f" with {found.rows} rows"
    return "\n".join(
        [
            f"{name}: snapshot {found.pinned.snapshot_id}{count}, topic {found.bounds.topic}",
            text_table(["partition", "log start", "log end"], rows),
            "Nothing was written. Stop whatever writes to the table, then say what it holds:",
            f"  {command} earliest  (none of these records)",
            f"  {command} latest  (all of them, also those of the last seconds)",
            f"  {command} '{example}'  (those below these offsets)",
        ]
    )
