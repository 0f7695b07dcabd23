"""What the summary of an ephemeral snapshot says: the receipt of its cut, for those who see nothing else.

A reader of Iceberg is handed rows and metadata. What an answer assumes, holds back or leaves out has to be
found there, or it would claim more than is known.
"""

from __future__ import annotations

import json
from typing import Final

from federation.boundary import OFFSETS_PROPERTY, render_offsets
from federation.cut import TakenCut
from federation.receipt import TableReceipt
from hotset.kafka import OffsetRange

CUT_PROPERTY: Final = "kafkaiceberg.cut"
ROWS_PROPERTY: Final = "kafkaiceberg.rows-hot"
CONFIDENCE_PROPERTY: Final = "kafkaiceberg.confidence"
ASSUMED_PROPERTY: Final = "kafkaiceberg.assumed"
HELD_BACK_PROPERTY: Final = "kafkaiceberg.held-back"
BAD_PROPERTY: Final = "kafkaiceberg.records-bad"
SKIPPED_PROPERTY: Final = "kafkaiceberg.rows-skipped"


def summarize(taken: TakenCut, receipt: TableReceipt) -> dict[str, str]:
    """Return what a summary says of a cut beside counts of rows; what there is none of is left out."""
    held_back = {p.partition: p.held_back for p in receipt.partitions if p.held_back}
    told = {
        CUT_PROPERTY: receipt.cut,
        ROWS_PROPERTY: str(receipt.rows_hot),
        CONFIDENCE_PROPERTY: receipt.boundary["confidence"] if receipt.boundary else "",
        ASSUMED_PROPERTY: ",".join(receipt.assumed),
        HELD_BACK_PROPERTY: json.dumps(held_back) if held_back else "",
        BAD_PROPERTY: str(receipt.records_bad or ""),
        SKIPPED_PROPERTY: str(receipt.rows_skipped or ""),
    }
    return {**{name: value for name, value in told.items() if value}, **_boundary(taken)}


def _boundary(taken: TakenCut) -> dict[str, str]:
    cut = taken.cut
    if cut.topic is None or cut.topic_id is None:
        return {}
    log = () if taken.bounds is None else taken.bounds.partitions
    return {
        OFFSETS_PROPERTY: render_offsets(
            topic=cut.topic,
            topic_id=cut.topic_id,
            isolation=cut.isolation,
            next_offset={r.partition: r.end for r in cut.ranges},
            leader_epoch={found.partition: found.leader_epoch for found in log},
            lost=tuple(OffsetRange(gap.partition, gap.start, gap.end) for gap in (*cut.lost, *cut.gaps)),
        )
    }
