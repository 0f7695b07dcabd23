"""A notebook shows a cut and a receipt as small tables, with what is hot in colour.

Names come from topics and tables, so they are never more than text.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from federation.cut.cut_html import ShownRange, render_cut_html
from tests.builders import Lake, commit_until, produce
from tests.conftest import MakeLake


def bars(html: str) -> list[list[int]]:
    """Widths of the cold and the hot part of each partition."""
    return [
        [int(width) for width in re.findall(r'<rect [^>]*?width="(\d+)"', bar)]
        for bar in re.findall(r"<svg.*?</svg>", html)
    ]


def test_what_is_hot_is_seen_beside_what_is_committed() -> None:
    html = render_cut_html(
        [("table", "lake.orders")],
        [ShownRange(0, 50, 50, 100), ShownRange(1, 25, 25, 25), ShownRange(2, 999_999, 999_999, 1_000_000)],
    )

    assert bars(html)[0][0] <= bars(html)[0][1] <= 2
    assert bars(html)[1][1] == 0
    assert bars(html)[2] == [240, 2]
    assert "<td>[50, 100)</td>" in html


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "a & b", '"quoted"'])
def test_names_are_text_and_nothing_else(text: str) -> None:
    html = render_cut_html([(text, text)], [])

    assert "<script" not in html
    [table] = ElementTree.fromstring(f"<all>{html}</all>")
    assert [cell.text for cell in table.iter() if cell.tag in ("th", "td")] == [text, text]


def test_an_empty_topic_is_shown() -> None:
    assert bars(render_cut_html([], [ShownRange(0, 0, 0, 0)])) == [[0, 0]]


@pytest.mark.kafka
def test_a_cut_and_a_receipt_show_their_partitions(lake: MakeLake) -> None:
    made: Lake = lake(partitions=2)
    produce(made.bootstrap, made.topic, [{"producer": "p", "seq": seq, "run": "r"} for seq in range(4)])
    commit_until(made, {0: 3})
    scan = made.open().scan()
    scan.to_arrow()

    for shown in (scan.cut, scan.receipt):
        html = shown._repr_html_()
        assert made.table in html
        assert "<td>[3, 4)</td>" in html
        assert len(bars(html)) == 2
    assert "3 cold, 1 hot" in scan.receipt._repr_html_()
    assert "exact" in scan.receipt._repr_html_()
