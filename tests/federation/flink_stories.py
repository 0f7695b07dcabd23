"""What a real Flink left behind (`tests/fixtures/flink`), as values, and as tables that can be asked.

A story is played again with the same records in a real topic and the same rows and summaries in an
Iceberg table, so that each snapshot stands where Flink's own stood. It must not know what is expected.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs

from federation.boundary.flink.checkpoint_files import Checkpoint
from federation.boundary.flink.checkpoint_metadata import parse_metadata
from federation.boundary.flink.state_handles import StatePlace
from tests.builders import Lake, delete_topic, make_topic, produce
from tests.conftest import MakeLake

FIXTURES = Path(__file__).parent.parent / "fixtures" / "flink"
STORIES: dict[str, Any] = json.loads((FIXTURES / "manifest.json").read_text("utf-8"))["stories"]
COLUMNS = "topic=kafka_topic,partition=kafka_partition,offset=kafka_offset"
ROWS = pa.schema(
    [
        ("seq", pa.int64()),
        ("kafka_topic", pa.string()),
        ("kafka_partition", pa.int32()),
        ("kafka_offset", pa.int64()),
    ]
)
MARKS = ("flink.job-id", "flink.max-committed-checkpoint-id", "flink.operator-id")

Held = Mapping[str, list[int]]  # "topic/partition" to the offsets of the rows


@dataclass(frozen=True)
class Commit:
    """One snapshot of a story."""

    job_id: str
    checkpoint_id: int
    rows: Held
    summary: Mapping[str, str]


def commits(story: str) -> list[Commit]:
    return [
        Commit(
            snapshot["summary"]["flink.job-id"],
            int(snapshot["summary"]["flink.max-committed-checkpoint-id"]),
            snapshot["rows"],
            {key: snapshot["summary"][key] for key in MARKS},
        )
        for snapshot in STORIES[story]["snapshots"]
    ]


def ends(rows: Held, topic: str) -> dict[int, int]:
    """The column boundary: one past the largest offset of each partition that has rows."""
    split = {tuple(where.rsplit("/", 1)): offsets for where, offsets in rows.items()}
    return {int(p): max(offsets) + 1 for (name, p), offsets in split.items() if name == topic}


def files(story: str) -> Iterator[Path]:
    yield from sorted((FIXTURES / story).rglob("_metadata"))


def checkpoint_at(path: Path) -> Checkpoint:
    folder = str(path.parent)
    return Checkpoint(
        folder, path.parent.parent.name, parse_metadata(path.read_bytes()), pafs.LocalFileSystem(), folder
    )


def load_inline(place: StatePlace) -> bytes:
    assert place.inline is not None
    return place.inline


class Played:
    """Plays stories, and removes their topics afterwards, since each has the name that Flink recorded."""

    def __init__(self, lake: MakeLake) -> None:
        self._lake = lake
        self._made: list[Lake] = []

    def __call__(self, story: str, topic: str, *, until: int | None = None) -> Lake:
        """Make the story's topic and table: all records, and the snapshots up to one."""
        made = replace(self._lake(schema=ROWS, topic=False), topic=topic)
        make_topic(made.bootstrap, topic, partitions=3)
        self._made.append(made)
        for partition, values in STORIES[story]["records"][topic].items():
            sent = [value.encode() if isinstance(value, str) else value for value in values]
            produce(made.bootstrap, topic, sent, partition=int(partition))
        before: Counter[tuple[str, int]] = Counter()
        for commit in commits(story)[:until]:
            now = Counter((where, offset) for where, offsets in commit.rows.items() for offset in offsets)
            append(made, story, (now - before).elements(), commit.summary)
            before = now
        return made

    def __enter__(self) -> Played:
        return self

    def __exit__(self, *_: object) -> None:
        for made in self._made:
            delete_topic(made.bootstrap, made.topic)


def starts(made: Lake, **options: str) -> dict[int, int]:
    """Where the hot half of each partition begins."""
    return {r.partition: r.start for r in made.open(**options).cut().ranges}


def append(made: Lake, story: str, rows: Iterable[tuple[str, int]], summary: Mapping[str, str]) -> None:
    """Put rows of the story's records into the table, with a summary."""
    found = []
    for where, offset in rows:
        topic, partition = where.rsplit("/", 1)
        value = STORIES[story]["records"][topic][partition][offset]
        found.append(
            {
                "seq": value["seq"],
                "kafka_topic": topic,
                "kafka_partition": int(partition),
                "kafka_offset": offset,
            }
        )
    made.load().append(pa.Table.from_pylist(found, schema=ROWS), snapshot_properties=dict(summary))
