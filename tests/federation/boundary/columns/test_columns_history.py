"""What has ever been in a table counts as committed, through any history of commits, deletes and rollbacks.

The model remembers, for each snapshot, every offset that the snapshot or an ancestor has held. What the
data files and the history say must be just that, whatever was deleted, rewritten or undone in between.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.catalog import Catalog
from pyiceberg.expressions import And, EqualTo, GreaterThanOrEqual
from pyiceberg.table import Table

from coldset.read.file_bounds import column_id, held_files
from coldset.table.catalog import pin
from federation.boundary.columns.held_offsets import Columns, find_held
from federation.boundary.columns.removed_offsets import find_past
from tests.coldset.tables import TABLE, make_catalog
from tests.writers.happenings import compact

ROWS = pa.schema([("p", pa.int32()), ("o", pa.int64())])
Offsets = frozenset[tuple[int, int]]

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 1), st.integers(1, 4)),
        st.tuples(st.just("append both"), st.just(0), st.integers(1, 3)),
        st.tuples(st.just("delete from"), st.integers(0, 1), st.integers(0, 8)),
        st.tuples(st.just("delete one"), st.integers(0, 1), st.integers(0, 8)),
        st.tuples(st.just("compact"), st.just(0), st.just(0)),
        st.tuples(st.just("roll back"), st.just(0), st.integers(1, 3)),
    ),
    min_size=2,
    max_size=8,
)


class History:
    """A table, and for each of its snapshots what it or an ancestor has held."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        catalog.create_table(TABLE, schema=ROWS)
        self.ever: dict[int | None, Offsets] = {None: frozenset()}

    def table(self) -> Table:
        return self.catalog.load_table(TABLE)

    def head(self) -> int | None:
        return self.table().metadata.current_snapshot_id

    def step(self, what: str, partition: int, number: int) -> None:
        ever, table = self.ever[self.head()], self.table()
        added: Offsets = frozenset()
        if what.startswith("append"):
            partitions = (0, 1) if what == "append both" else (partition,)
            added = frozenset((p, self.next_offset(p) + i) for p in partitions for i in range(number))
            rows = [{"p": p, "o": o} for p, o in sorted(added)]
            table.append(pa.Table.from_pylist(rows, schema=ROWS))
        elif what == "delete from":
            table.delete(And(EqualTo("p", partition), GreaterThanOrEqual("o", number)))
        elif what == "delete one":
            table.delete(And(EqualTo("p", partition), EqualTo("o", number)))
        elif what == "compact" and table.scan().count():
            compact(table)
        elif what == "roll back":
            self.roll_back(table, number)
            return
        for snapshot in self.table().snapshots():
            self.ever.setdefault(snapshot.snapshot_id, ever | added)

    def roll_back(self, table: Table, number: int) -> None:
        snapshot = table.current_snapshot()
        for _ in range(number):
            if snapshot is not None and snapshot.parent_snapshot_id is not None:
                snapshot = table.snapshot_by_id(snapshot.parent_snapshot_id)
        if snapshot is not None and snapshot.snapshot_id != self.head():
            table.manage_snapshots().rollback_to_snapshot(snapshot.snapshot_id).commit()

    def next_offset(self, partition: int) -> int:
        """A writer goes on where the table's own past ends, also after a rollback."""
        return max((o for p, o in self.ever[self.head()] if p == partition), default=-1) + 1

    def found(self, snapshot_id: int) -> Offsets:
        pinned = pin(self.catalog, TABLE, snapshot_id=snapshot_id)
        columns = Columns((column_id(pinned, ["p"]), column_id(pinned, ["o"])), None)
        held = find_held(pinned, held_files(pinned, columns.ids), columns, {})
        past = find_past(pinned, held, columns, {})
        both = (*held.spans.items(), *past.spans.items())
        return frozenset((p, o) for p, spans in both for start, end in spans for o in range(start, end))


@pytest.mark.filterwarnings("ignore:Delete operation did not match any records")
@settings(deadline=None, max_examples=40)
@given(STEPS)
def test_what_was_ever_held_is_found_at_every_snapshot(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int]]
) -> None:
    history = History(make_catalog(tmp_path_factory.mktemp("history")))
    for step in steps:
        history.step(*step)

    for snapshot in history.table().snapshots():
        assert history.found(snapshot.snapshot_id) == history.ever[snapshot.snapshot_id], steps
