"""Statements that share a cursor one after the other: none sees another's traces, rows or columns.

Each answer is one that a new cursor gives as well. What is counted is how many cursors were opened for them.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from federation.cut.take import take_cut
from federation.engine.run import cursors as shown
from federation.engine.run import resident_rows as resident
from federation.engine.run.clock import StatementClock
from federation.engine.run.cursors import SHELF, Key, Shown, lend_cursor
from federation.engine.run.execution import Limits
from federation.engine.run.instance import open_cursor
from federation.engine.run.query import run_query
from federation.engine.run.streams import TableStreams
from federation.errors import QueryCancelledError, ResultTooLargeError, SqlError
from foundation.idle_pool import IdlePool
from tests.builders import Lake, produce, wait_until
from tests.conftest import MakeLake
from tests.federation.test_query import ENDLESS
from tests.federation.test_resident import SCHEMA, orders, rows

SUM = "select kind, sum(id) as s from {t} group by kind order by kind"


@pytest.fixture(autouse=True)
def shelf(monkeypatch: pytest.MonkeyPatch) -> Iterator[IdlePool[Key, Shown]]:
    """A shelf of this test's own, where nothing is given up because a machine is slow."""
    monkeypatch.setattr(resident, "_GOOD_S", 600.0)
    made = shown.shelf(good_s=600.0)
    monkeypatch.setattr(shown, "SHELF", made)
    yield made
    made.end()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The cursors that were opened for resident rows."""
    seen: list[Any] = []

    def opening() -> Any:
        seen.append(open_cursor())
        return seen[-1]

    monkeypatch.setattr(shown, "open_cursor", opening)
    return seen


@pytest.fixture
def hot(lake: MakeLake) -> Lake:
    """Nine orders, none of them in the table, of which no column has been read."""
    made = lake(schema=SCHEMA).having(hotStore="on_demand")
    produce(made.bootstrap, made.topic, orders(0, 9), partition=0)
    return made


def clock(*, is_stopped: bool = False) -> StatementClock:
    return StatementClock(60_000, lambda: is_stopped)


def is_open(cursor: Any) -> bool:
    try:
        cursor.execute("select 1")
    except duckdb.ConnectionException:
        return False
    return True


@pytest.mark.kafka
def test_statements_over_the_same_columns_share_a_cursor(hot: Lake, opened: list[Any]) -> None:
    for _ in range(3):
        assert rows(hot, SUM) == [{"kind": k, "s": s} for k, s in (("a", 9), ("b", 12), ("c", 15))]
        assert rows(hot, "select max(id) as m from {t} where kind = 'b'") == [{"m": 7}]
    assert rows(hot, "select max(place.zip) as m from {t}") == [{"m": 8}]
    assert rows(hot, "select max(place.zip) as m from {t}") == [{"m": 8}]

    assert len(opened) == 2


@pytest.mark.kafka
def test_rows_that_are_new_are_shown_on_the_same_cursor(hot: Lake, opened: list[Any]) -> None:
    for first, end in pairwise((9, 9, 10, 200, 3000, 3001)):
        produce(hot.bootstrap, hot.topic, orders(first, end), partition=end % 2)
        [told] = rows(hot, "select count(*) as n, max(id) as i, count(distinct kind) as k from {t}")
        assert told == {"n": end, "i": end - 1, "k": 3}
        assert rows(hot, SUM) == rows(hot, SUM, hotStore="off")

    assert len(opened) == 1


@pytest.mark.kafka
def test_strings_may_be_plain_or_in_a_dictionary_from_one_statement_to_the_next(hot: Lake) -> None:
    streams, lent = TableStreams(take_cut(hot.merged()), lambda: None), Shown(open_cursor())
    plain = pa.table({"kind": ["x", "y"]})
    found = []
    for table in (plain, pa.table({"kind": plain["kind"].dictionary_encode()}), plain.slice(1), plain):
        lent.show("t", streams, table)
        found.append(lent.cursor.sql("select max(kind), count(*) from t").fetchall())
    lent.cursor.close()

    assert found == [[("y", 2)], [("y", 2)], [("y", 1)], [("y", 2)]]


@pytest.mark.kafka
@pytest.mark.parametrize(
    ("seeding", "drawing"),
    [
        ("select setseed(0.5), max(id) from {t}", "select random() as r, max(id) from {t}"),
        (
            "select setseed(0.5), max(id) from {t}",
            "select list(i) as r, max(id) from {t}, (select i from range(100000) r(i) using sample 9 rows)",
        ),
    ],
)
def test_a_seed_is_not_seen_by_others(hot: Lake, seeding: str, drawing: str) -> None:
    drawn = []
    for _ in range(3):
        rows(hot, seeding)
        drawn.append(rows(hot, drawing)[0]["r"])

    assert len(set(map(str, drawn))) == 3


@pytest.mark.kafka
def test_the_clock_goes_on_for_a_statement_that_was_bound_before(hot: Lake, opened: list[Any]) -> None:
    times = [rows(hot, "select now() as t, max(id) as m from {t}")[0]["t"] for _ in range(4)]

    assert len(opened) == 1
    assert sorted(set(times)) == times


@pytest.mark.kafka
def test_after_an_error_the_cursor_is_closed_and_the_next_statement_answers(
    hot: Lake, opened: list[Any]
) -> None:
    good = "select max(id) as m, max(kind) as k from {t}"
    for _ in range(3):
        assert rows(hot, good) == [{"m": 8, "k": "c"}]
        with pytest.raises(SqlError, match="Could not convert"):
            rows(hot, "select max(id), max(cast(kind as int)) from {t}")
        with pytest.raises(ResultTooLargeError):
            run_query(f"select id, kind from {hot.table}", {hot.table: hot.merged()}, Limits(max_rows=3))

    assert not any(map(is_open, opened))


@pytest.mark.kafka
def test_a_column_that_was_not_read_is_found_out_on_a_kept_cursor_too(hot: Lake) -> None:
    told = rows(hot, "select t from {t} t order by t.id", hotStore="off")

    for _ in range(3):
        assert rows(hot, "select max(id) as m from {t}") == [{"m": 8}]
        assert rows(hot, "select t from {t} t order by t.id") == told
        assert rows(hot, "select id from {t} natural join (select 3::bigint as id, 'b' as kind)") == []


@pytest.mark.kafka
def test_a_table_that_gets_another_column_shows_it(hot: Lake) -> None:
    # The engine knows its answer without looking at a column.
    kind = "select max(id) as m, any_value(typeof(t)) as k from {t} t"
    for _ in range(2):
        assert list(rows(hot, "select * from {t} limit 1")[0]) == SCHEMA.names
        assert "tags VARCHAR[]" in rows(hot, kind)[0]["k"]
        assert rows(hot, SUM)[0] == {"kind": "a", "s": 9}
    with hot.load().update_schema() as change:
        change.rename_column("tags", "marks")

    for _ in range(2):
        assert list(rows(hot, "select * from {t} limit 1")[0]) == [*SCHEMA.names[:3], "marks", "price"]
        assert "marks VARCHAR[]" in rows(hot, kind)[0]["k"]
        assert rows(hot, "select max(id) as m from {t} where marks is null") == [{"m": 8}]
        assert rows(hot, SUM)[0] == {"kind": "a", "s": 9}


@pytest.mark.kafka
def test_one_topic_under_two_names_is_two_tables(hot: Lake, opened: list[Any]) -> None:
    tables = {"a.one": hot.merged(), "a.two": hot.merged()}
    statement = "select sum(one.id) as s, count(*) as n from a.one join a.two on one.id < two.id"

    for first, end in pairwise((9, 9, 9, 9, 12, 12, 12)):
        produce(hot.bootstrap, hot.topic, orders(first, end))
        pairs = [(a, b) for b in range(end) for a in range(b)]
        told = [{"s": sum(a for a, _ in pairs), "n": len(pairs)}]
        assert run_query(statement, tables).rows.to_pylist() == told
        assert run_query("select max(id) as m from a.two", tables).rows.to_pylist() == [{"m": end - 1}]

    assert len(opened) == 2


@pytest.mark.kafka
def test_statements_at_once_have_cursors_of_their_own(hot: Lake) -> None:
    together = threading.Barrier(8)

    def ask(number: int) -> list[Any]:
        found = []
        for _ in range(20):
            if not number:
                produce(hot.bootstrap, hot.topic, orders(9 + len(found), 10 + len(found)))
            [each] = rows(hot, "select count(*) as n, sum(id) as s, max(kind) as k from {t}")
            found.append((each["n"], int(each["s"]), each["k"]))
        together.wait()
        return found

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))

    for found in answers:
        assert found == sorted(found)
        assert all((s, k) == (n * (n - 1) // 2, "c") for n, s, k in found)
    assert answers[0][-1][0] == 29


def test_two_statements_never_have_one_cursor() -> None:
    with lend_cursor({}, clock(), is_kept=True) as one, lend_cursor({}, clock(), is_kept=True) as other:
        assert one.cursor is not other.cursor
    with lend_cursor({}, clock(), is_kept=True) as again, lend_cursor({}, clock(), is_kept=False) as alone:
        assert again.cursor in (one.cursor, other.cursor)
        assert alone.cursor not in (one.cursor, other.cursor)


def test_a_statement_that_was_stopped_after_its_last_row_leaves_no_cursor() -> None:
    with lend_cursor({}, clock(), is_kept=True) as one:
        pass
    stopped = clock(is_stopped=True)
    with lend_cursor({}, stopped, is_kept=True) as same:
        assert stopped.has_to_stop()

    assert same is one
    assert not is_open(one.cursor)
    with lend_cursor({}, clock(), is_kept=True) as other:
        assert other.cursor.sql("select 1").fetchall() == [(1,)]


def test_a_statement_that_was_interrupted_leaves_no_cursor(opened: list[Any]) -> None:
    left = threading.Event()
    threading.Timer(0.1, left.set).start()
    with pytest.raises(QueryCancelledError):
        run_query(ENDLESS, {}, is_abandoned=left.is_set)

    assert not any(map(is_open, opened))
    assert run_query("select 1 as one", {}).rows.to_pylist() == [{"one": 1}]


def test_few_cursors_are_kept(shelf: IdlePool[Key, Shown]) -> None:
    lent = [Shown(open_cursor()) for _ in range(20)]
    for number, each in enumerate(lent):
        shelf.put(((str(number), pa.schema([]), ()),), each)

    assert [is_open(each.cursor) for each in lent] == [False] * 4 + [True] * 16
    assert shelf.take((("3", pa.schema([]), ()),)) is None
    assert shelf.take((("4", pa.schema([]), ()),)) is lent[4]


def test_a_cursor_that_nobody_uses_is_closed_and_its_rows_are_given_back() -> None:
    shelf = shown.shelf(good_s=0.2)
    table = pa.table({"id": pa.array(range(10), pa.int64())})
    is_there = weakref.ref(table)
    for number in range(2):
        lent = Shown(open_cursor(), {"t": table})
        lent.cursor.register("t", table)
        shelf.put(((str(number), table.schema, ()),), lent)
    del table, lent

    wait_until(lambda: is_there() is None, "rows to be given back")


def test_the_child_of_a_fork_leaves_its_parents_cursors_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown, "SHELF", SHELF)
    with lend_cursor({}, clock(), is_kept=True) as parents:
        parents.rows["t"] = pa.table({"id": [1]})
        is_there = weakref.ref(parents.rows["t"])
    del parents

    child = os.fork()
    if child == 0:
        try:
            with lend_cursor({}, clock(), is_kept=True) as own:
                # Not even closed: it may have been in the middle of anything.
                os._exit(0 if not own.rows and is_there() is not None else 1)
        finally:
            os._exit(2)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with lend_cursor({}, clock(), is_kept=True) as again:
        assert again.rows["t"] is is_there()
    SHELF.end()
