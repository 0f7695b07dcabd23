"""Reading only what a plan looks at must never change an answer.

Each statement is asked twice: as it is, and with every column read. The same
rows are also in a table of the engine's own, which answers a third time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from federation.engine.lookahead.lookahead import Lookout, Outlook
from tests.builders import Lake, commit_until, make_table, produce
from tests.conftest import MakeLake

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("grp", pa.string()),
        ("amount", pa.float64()),
        ("p", pa.struct([("x", pa.int32()), ("y", pa.struct([("z", pa.int32())]))])),
        ("p.w", pa.int32()),
        ("tags", pa.list_(pa.int32())),
        ("UPPER", pa.int32()),
        ("two words", pa.int32()),
        ('q"uote', pa.int32()),
        ("comma, here", pa.int32()),
        ("ünï", pa.int32()),
        ("flag", pa.bool_()),
    ]
)

ROWS: list[dict[str, Any]] = [
    {
        "id": n,
        "grp": "abc"[n % 3],
        "amount": n / 4,
        "p": {"x": n % 5, "y": {"z": n % 2}},
        "p.w": 100 + n,
        "tags": list(range(n % 4)),
        "UPPER": n % 7,
        "two words": -n,
        'q"uote': n * 2,
        "comma, here": n * 3,
        "ünï": n * 5,
        "flag": n % 2 == 0,
    }
    for n in range(24)
]

STATEMENTS = [
    "select * from t order by id",
    "select count(*) from t",
    "select 1 from t",
    "select id from t where id > 3 order by 1",
    "select sum(amount), max(grp), min(upper) from t",
    "select grp, count(*), avg(amount) from t group by grp having sum(id) > 10 order by 1",
    "select p.x from t order by id",
    "select p.y.z, count(*) from t group by all order by 1",
    "select id from t where p.x = 2 order by 1",
    "select id from t where p.y.z = 1 and upper > 2 order by 1",
    'select id from t where t."p.w" > 110 order by 1',
    'select t."p.w", t.p.x from t order by id',
    "select p from t order by id",
    'select "two words", "q""uote", "comma, here", "ünï" from t order by id',
    'select id from t where "comma, here" = 9 or "q""uote" = 4 order by 1',
    "select unnest(tags) v, id from t order by 2, 1",
    "select id, list_sum(tags) from t order by 1",
    "select id from t order by amount desc limit 3",
    "select grp from t order by upper, id limit 5 offset 2",
    "select * exclude (p, tags) from t order by id limit 2",
    "select columns('^[iu]') from t order by id",
    "select a.id, b.grp from t a join t b on a.id = b.upper order by all",
    "select a.id from t a left join t b on a.upper = b.id and b.flag where b.grp is null order by 1",
    "with x as (select id, grp, upper from t) select a.id from x a join x b on a.id = b.upper order by 1",
    "with x as materialized (select * from t) select count(*), sum(upper) from x where flag",
    "with recursive r as (select 0 n union all select n + 1 from r join t on t.id = n where n < 9) from r",
    "select id from t where exists (select 1 from t o where o.upper = t.id and o.flag) order by 1",
    "select id, (select max(o.amount) from t o where o.grp = t.grp) m from t order by 1",
    "select id from t where grp in (select grp from t where amount > 5.6) order by 1",
    "select id, row_number() over (partition by grp order by amount desc) from t order by 1",
    "select id from t qualify row_number() over (partition by grp order by upper, id) = 1 order by 1",
    "select distinct on (grp) grp, id from t order by grp, amount desc",
    'select grp, list(id order by "two words") filter (where flag) from t group by grp order by 1',
    "select arg_max(id, amount), any_value(flag) filter (where id = 3) from t",
    "select grp, flag, sum(id) from t group by cube (grp, flag) order by all",
    "select * from (select id, upper from t) pivot (sum(id) for upper in (1, 2, 3))",
    "select id, amount from t union all select upper, 1 from t order by all",
    "select id from t except select upper from t order by 1",
    "select t from t order by id limit 2",
    "select a.id, b.amount from t a asof join t b on a.amount > b.amount order by all",
    "select case when flag then amount else upper end from t order by id",
    "select count(distinct grp), approx_count_distinct(flag) from t where tags is not null",
    "select id from t where false",
    "select max(id) from t where flag and not flag",
    "select s.id, l.v from t s, lateral (select s.upper + 1 as v) l order by all",
    "select id from t tablesample 100% order by 1",
    "select grp, id from t where grp like 'a%' and id between 3 and 12 order by all",
]


@pytest.fixture(scope="module")
def wide(lake: MakeLake) -> Lake:
    made = replace(lake(), table="lake.t")
    make_table(made.catalog, made.table, SCHEMA)
    for part in (0, 1):
        produce(made.bootstrap, made.topic, ROWS[part * 6 : part * 6 + 6], partition=part)
    commit_until(made)
    for part in (0, 1):
        produce(made.bootstrap, made.topic, ROWS[12 + part * 6 : 18 + part * 6], partition=part)
    return made


@pytest.fixture(scope="module")
def native() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.register("rows", pa.Table.from_pylist(ROWS, schema=SCHEMA))
        connection.execute("create table t as from rows")
        yield connection


REAL_LOOK = Lookout.look


def see_everything(lookout: Lookout, sql: str) -> tuple[str, dict[str, Outlook]]:
    plan, found = REAL_LOOK(lookout, sql)
    everything = {name: Outlook(True, tuple(SCHEMA.names), None) for name in found}
    return plan, everything


@pytest.mark.kafka
@pytest.mark.parametrize("sql", STATEMENTS)
def test_reading_fewer_columns_gives_the_same_answer(
    wide: Lake, native: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    chosen = wide.sql(sql).rows.to_pylist()
    monkeypatch.setattr(Lookout, "look", see_everything)
    everything = wide.sql(sql).rows.to_pylist()

    assert chosen == everything
    assert chosen == native.sql(sql).to_arrow_table().to_pylist()


@pytest.mark.kafka
@pytest.mark.parametrize("sql", ["select sum(upper) from t", "select id from t where p.y.z = 1"])
def test_columns_nobody_looks_at_are_not_read(wide: Lake, monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    seen: list[Outlook] = []

    def watch(lookout: Lookout, sql: str) -> tuple[str, dict[str, Outlook]]:
        plan, found = REAL_LOOK(lookout, sql)
        seen.extend(found.values())
        return plan, found

    monkeypatch.setattr(Lookout, "look", watch)
    wide.sql(sql)

    [outlook] = seen
    assert 0 < len(outlook.columns) <= 3
