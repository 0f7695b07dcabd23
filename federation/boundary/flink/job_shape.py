"""Whether a Flink job brings one topic into one table, as far as its checkpoint shows.

A checkpoint names the topics of the job's sources and the operators of its
sinks, and not which of them are joined. So a job of one sink and several topics
brings more into the table than one topic, one of several sinks may divide a
topic between tables, and of one with several of both nobody can tell. It must
not know Iceberg, nor open a file.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from federation.boundary.flink.checkpoint_metadata import SINK_STATE, Metadata
from federation.boundary.flink.source_positions import Load, read_other_topics

# The newer sink's summaries name this operator, and not the one that commits.
_AGGREGATOR: Final = ": Sink pre-commit aggregator"
_OLDER_TABLE: Final = re.compile(r"IcebergSink (.+?)(?:: Writer)?$")


@dataclass(frozen=True, slots=True)
class JobShape:
    """What a job does beside bringing one topic into one table.

    Attributes:
        other_topics: Topics that its sources read, too.
        other_tables: Tables that its sinks fill, too, or their operators' ids where no name is told.
    """

    other_topics: tuple[str, ...] = ()
    other_tables: tuple[str, ...] = ()


def read_shape(metadata: Metadata, topic: str, table: str, sinks: Collection[str], load: Load) -> JobShape:
    """Return what the job of a checkpoint does beside.

    Args:
        metadata: The checkpoint.
        topic: The topic.
        table: Namespace and name of the table.
        sinks: Ids of the operators that the table's summaries name; empty if they name none.
        load: Returns the bytes of a state.

    Raises:
        MalformedStateError: A source of the topic is of a kind that is not known.
    """
    return JobShape(read_other_topics(metadata, topic, load), _other_tables(metadata, table, sinks))


def _other_tables(metadata: Metadata, table: str, sinks: Collection[str]) -> tuple[str, ...]:
    tables: dict[str, str] = {}
    for operator in metadata.operators:
        older = _OLDER_TABLE.search(operator.name)
        if SINK_STATE in operator.state_names:
            tables[operator.operator_id] = ""
        elif _AGGREGATOR in operator.name:
            tables[operator.operator_id] = operator.name.partition(_AGGREGATOR)[0]
        elif older is not None:
            tables[operator.operator_id] = older[1]
    named = {name for name in tables.values() if name}
    if len(named) == 1:
        return ()  # however many sinks there are, they fill one table
    if named:
        mine = {tables.get(each) for each in sinks}
        return tuple(sorted(each for each in named if each not in mine and not each.endswith(f".{table}")))
    others = [each for each in tables if each not in sinks]
    return tuple(others if sinks else others[1:])
