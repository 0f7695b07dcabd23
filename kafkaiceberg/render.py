"""Answers and cuts as text for a terminal. It computes nothing and prints nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from federation.cut import TakenCut
from federation.engine import Answer
from federation.errors import BoundaryUnknownError
from federation.receipt_lines import (
    render_assumed,
    render_bad,
    render_reader_schema,
    render_receipt,
    render_unmapped,
)
from hotset.native import native_available
from kafkaiceberg import __version__

if TYPE_CHECKING:
    from pipeline.freeze import LeftOut


def render_version() -> str:
    """Return the version, and in which of two ways records are taken out of Kafka."""
    native = native_available()
    way = "natively" if native.is_available else "in Python"
    return f"kafkaiceberg {__version__}, records taken {way}: {native.reason}"


def render_answer(answer: Answer) -> str:
    """Return the rows as a table, and the receipt of the answer under it.

    Raises:
        SqlError: A value is outside of what a time of Python can be.
    """
    names = answer.rows.schema.names
    columns = [[_text(value) for value in column] for column in answer.values()]
    count = answer.rows.num_rows
    stages = ", ".join(f"{stage} {ms:.1f}" for stage, ms in answer.stages_ms.items())
    lines = [
        text_table(names, [list(row) for row in zip(*columns, strict=True)]),
        f"({count} row{'' if count == 1 else 's'}; milliseconds: {stages})",
    ]
    lines.extend(render_receipt(receipt) for receipt in answer.receipts)
    return "\n".join(lines)


def render_cut(taken: TakenCut, *, explains: bool = False) -> str:
    """Return a cut as a table of partitions, and its token.

    Args:
        taken: The cut, with what it was taken from.
        explains: Whether to tell what was looked at to find the boundary.
    """
    cut = taken.cut
    lines = [f"{cut.table}: snapshot {cut.snapshot_id}, topic {cut.topic}, {cut.isolation.value}"]
    rows = [
        [
            str(n)
            for n in (
                r.partition,
                cut.committed(r.partition),
                r.start,
                r.end,
                r.span,
                taken.held_back(r.partition),
            )
        ]
        for r in cut.ranges
    ]
    lines.append(text_table(["partition", "committed", "start", "end", "offsets", "held back"], rows))
    if taken.committed is not None:
        found = taken.committed
        if explains:
            lines.extend(f"looked at: {looked}" for looked in found.looked)
            lines.append(f"chosen: resolver {found.resolver}")
        assumed = taken.assumed()
        lines.append(f"boundary: {found.provenance} ({taken.confidence(assumed).value})")
        lines.extend(render_assumed(assumed))
    if cut.reader_schema is not None:
        lines.append(render_reader_schema(cut.reader_schema))
    lines.append(cut.token())
    return "\n".join(lines)


def render_looked(error: BoundaryUnknownError) -> str:
    """Return what was looked at before a boundary was found to be unknown, a line each."""
    looked = error.details.get("looked")
    lines = looked if isinstance(looked, tuple) else ()
    return "\n".join(f"looked at: {line}" for line in lines)


def text_table(names: list[str], rows: list[list[str]]) -> str:
    """Return rows of cells under names, in columns."""
    widths = [max(len(line[i]) for line in [names, *rows]) for i in range(len(names))]
    rule = ["-" * width for width in widths]
    padded = [
        [cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in [names, rule, *rows]
    ]
    return "\n".join("  ".join(line).rstrip() for line in padded)


def _text(value: Any) -> str:
    return "NULL" if value is None else str(value)


def render_left_out(left_out: LeftOut) -> list[str]:
    """Return lines that tell what a freeze has left out for good; none if that is nothing."""
    lines = []
    if left_out.records:
        lines.append(f"bad: {left_out.records} records are no rows and were left out")
        lines.extend(f"  {line}" for line in render_bad(left_out.first))
    if left_out.unmapped:
        lines.append(f"left out, without a column: {render_unmapped(left_out.unmapped)}")
    return lines
