"""A receipt, and parts of it, as lines for a terminal.

What a receipt says as JSON is in `receipt`; nothing is counted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from federation.boundary import Assumption
from federation.cut import ReaderSchema
from federation.receipt import TableReceipt
from hotset.decode import BadRecord

_NAMED: Final = 10


def render_bad(found: Sequence[BadRecord]) -> list[str]:
    """Return a line for each bad record."""
    return [f"partition {each.partition} offset {each.offset}: {each.reason}" for each in found]


def render_unmapped(paths: Sequence[str]) -> str:
    """Return the fields that no column is for, of which the first are named."""
    names = ", ".join(paths[:_NAMED])
    return names if len(paths) <= _NAMED else f"{names} and {len(paths) - _NAMED} more fields"


def render_assumed(assumed: Sequence[Assumption]) -> list[str]:
    """Return a line for each thing that was taken for granted."""
    return [f"assumed: {each.value}: {each.meaning}" for each in assumed]


def render_reader_schema(found: ReaderSchema) -> str:
    """Return a line that tells which schema `readerSchema=latest` is."""
    return f"reader's schema: version {found.version}, id {found.schema_id}, the latest at the cut"


def render_receipt(receipt: TableReceipt) -> str:
    """Return the receipt as a few lines for a terminal."""
    age = "none hot" if receipt.newest_age_ms is None else f"{receipt.newest_age_ms} ms old"
    lines = [
        f"{receipt.table}: snapshot {receipt.snapshot_id}, {receipt.rows_cold} cold + "
        f"{receipt.rows_hot} hot rows, "
        f"newest record {age}"
    ]
    for p in receipt.partitions:
        held = f", {p.held_back} offsets held back by an open transaction" if p.held_back else ""
        lines.append(f"  partition {p.partition}: committed {p.committed}, hot [{p.start}, {p.end}){held}")
    if receipt.boundary is not None:
        lines.append(f"  boundary: {receipt.boundary['provenance']} ({receipt.boundary['confidence']})")
    lines.extend(f"  {line}" for line in render_assumed(receipt.assumed))
    lines.append(
        f"  files: {receipt.files_read} read ({receipt.bytes_read} bytes), {receipt.files_pruned} left out"
    )
    if receipt.rows_skipped:
        lines.append(f"  skipped: {receipt.rows_skipped} hot records without a value")
    if receipt.unmapped:
        lines.append(f"  without a column: {render_unmapped(receipt.unmapped)}")
    if receipt.records_bad:
        lines.append(f"  bad: {receipt.records_bad} hot records are no rows of the table")
        lines.extend(f"    {line}" for line in render_bad(receipt.first_bad))
    lines.extend(f"  gap accepted: partition {p} [{start}, {end})" for p, start, end in receipt.gaps)
    if receipt.reader_schema is not None:
        lines.append(f"  {render_reader_schema(receipt.reader_schema)}")
    stages = ", ".join(f"{stage} {ms:.1f}" for stage, ms in receipt.stages_ms.items())
    lines.append(f"  milliseconds: {stages}")
    return "\n".join(lines)
