"""A cut as a notebook shows it: a small table, with a picture of what is committed and what is hot.

Everything is plain HTML without scripts or styles of its own, so that any notebook shows it. It computes
nothing but widths.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

_WIDTH: Final = 240
_HEIGHT: Final = 12
_COLD, _HOT = "#9aa5b1", "#e8590c"


class ShownRange(NamedTuple):
    """A partition of a cut: its first offset that the snapshot does not hold, and its hot range."""

    partition: int
    committed: int
    start: int
    end: int


def render_cut_html(facts: Iterable[tuple[str, object]], ranges: Sequence[ShownRange]) -> str:
    """Return a cut as HTML.

    Args:
        facts: Names and values, in order.
        ranges: The partitions.
    """
    told = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in facts)
    most = max((r.end for r in ranges), default=0)
    rows = "".join(
        f"<tr><td>{r.partition}</td><td>{r.committed}</td><td>[{r.start}, {r.end})</td>"
        f"<td>{_bar(r, most)}</td></tr>"
        for r in ranges
    )
    head = "<tr><th>partition</th><th>committed</th><th>hot</th><th>committed → end</th></tr>"
    return f"<table>{told}</table>" + (f"<table>{head}{rows}</table>" if ranges else "")


def _bar(shown: ShownRange, most: int) -> str:
    cold = _pixels(min(shown.committed, shown.end), most)
    # What is hot is seen, however little it is.
    hot = max(2, _pixels(shown.end, most) - cold) if shown.end > shown.start else 0
    return (
        f'<svg width="{_WIDTH + 2}" height="{_HEIGHT}" role="img">'
        f"<title>{shown.end - shown.start} offsets are hot</title>"
        f'<rect width="{cold}" height="{_HEIGHT}" fill="{_COLD}"/>'
        f'<rect x="{cold}" width="{hot}" height="{_HEIGHT}" fill="{_HOT}"/></svg>'
    )


def _pixels(offset: int, most: int) -> int:
    return round(_WIDTH * offset / most) if most else 0
