"""Gather which fields of hot records the table has no column for.

Their values are lost for good once the records are committed, and no error says so. The newest records of
each partition are decoded as a query would decode them; nothing is judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from federation.cut import take_cut
from federation.doctor.examined_facts import FieldFacts, Missing
from federation.plan import answer_schema, plan_hot
from federation.read import HotMeter, read_split
from foundation.errors import KafkaIcebergError
from hotset.decode import BadRecords
from hotset.kafka import OffsetRange

_LOOKED: Final = 10_000


def gather_fields(options: Mapping[str, str]) -> FieldFacts | Missing:
    """Return what fields the newest hot records have besides those of the table.

    Args:
        options: From `merge_options`.

    What cannot be read is `Missing`.
    """
    wanted = {name: value for name, value in options.items() if name not in ("maxHotRecords", "maxHotBytes")}
    meter = HotMeter()
    try:
        taken = take_cut({**wanted, "badRecords": BadRecords.SKIP.value})
        newest = tuple(
            OffsetRange(r.partition, max(r.start, r.end - _LOOKED), r.end) for r in taken.cut.ranges
        )
        taken = replace(taken, cut=replace(taken.cut, ranges=newest))
        for split in plan_hot(taken, answer_schema(taken), spread=False):
            for _ in read_split(replace(split, store=None), meter):
                pass
    except KafkaIcebergError as exc:
        return Missing(f"the hot records could not be read: {exc}", is_failure=False)
    counts = meter.counts
    return FieldFacts(counts.rows, counts.bad, tuple(sorted(counts.unmapped)))
