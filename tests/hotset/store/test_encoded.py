"""Strings that are kept with a dictionary are the same strings, in every way to ask and beside plain ones.

The engine reads dictionaries as they are; everybody else gets plain strings. Answers are compared with those
of a table without a store.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from hotset.store.dictionaries import alike, encode, is_encoded, join, plain
from tests.builders import Lake, produce
from tests.conftest import MakeLake

FEW = ["north", None, "", "süd", "a\x00b"] * 40
MANY = [f"customer {i}" for i in range(200)]


@pytest.mark.parametrize("values", [FEW, MANY, [None] * 10, [], ["one"], [None]])
def test_encoded_strings_are_the_same_strings(values: list[str | None]) -> None:
    array = pa.array(values, pa.string())

    assert plain(encode(array)).to_pylist() == values
    assert plain(encode(array).slice(3, 5)).to_pylist() == values[3:8]
    assert plain(join([encode(array), array])).to_pylist() == values * 2


def test_strings_that_repeat_are_encoded_and_others_are_not() -> None:
    assert is_encoded(encode(pa.array(FEW)))
    assert not is_encoded(encode(pa.array(MANY)))
    assert not is_encoded(encode(pa.array([1, 1, 1])))


@pytest.mark.parametrize(("few", "many", "is_dictionary"), [(10, 1, True), (1, 10, False)])
def test_parts_of_a_column_take_the_form_of_most_rows(few: int, many: int, is_dictionary: bool) -> None:
    parts = [*[pa.array(FEW).dictionary_encode()] * few, *[pa.array(MANY)] * many]

    found = alike(parts)

    assert {is_encoded(part) for part in found} == {is_dictionary}
    assert [plain(part).to_pylist() for part in found] == [FEW] * few + [MANY] * many


@pytest.fixture
def lakes(lake: MakeLake, tmp_path: Path) -> Callable[..., tuple[Lake, Lake]]:
    """The same topic, with a store and without one."""

    def make() -> tuple[Lake, Lake]:
        bare = lake(partitions=2).having(
            read="hot", schema="id bigint, region string, name string, note string"
        )
        return bare.having(hotStore="on_demand", hotStorePath=str(tmp_path / "store")), bare

    return make


def record(number: int) -> dict[str, object]:
    return {
        "id": number,
        "region": FEW[number % len(FEW)],
        "name": f"customer {number}",
        "note": None if number < 150 else f"note {number}",
    }


@pytest.mark.kafka
@pytest.mark.parametrize(
    "query",
    [
        "select region, count(*), max(id) from {t} group by region order by 1, 2",
        "select * from {t} order by id",
        "select id from {t} where region = 'süd' and name like '%7' order by id",
        "select id from {t} where note is not null order by id limit 5",
        "select count(*) from {t}",
        "select count(distinct region), min(name), max(note) from {t}",
        "select a.id from {t} a join {t} b on a.region = b.region and a.name = b.name order by 1",
        "select region || name x, length(region) from {t} order by id",
        "select region from {t} where region in (select region from {t} where id = 3) order by id",
        "with x as (select distinct region from {t}) select count(*) from x",
        "select list(region order by id) from {t}",
    ],
)
def test_sql_over_kept_rows_answers_as_without_a_store(
    lakes: Callable[..., tuple[Lake, Lake]], query: str
) -> None:
    kept, bare = lakes()
    produce(bare.bootstrap, bare.topic, map(record, range(200)))
    for turn in range(3):
        sql = query.format(t=bare.table)
        found, wanted = kept.sql(sql).rows, bare.sql(sql).rows
        assert found.to_pylist() == wanted.to_pylist()
        assert found.schema == wanted.schema
        produce(bare.bootstrap, bare.topic, map(record, range(200 + 10 * turn, 210 + 10 * turn)), partition=1)
