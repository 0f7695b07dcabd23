"""A gateway that keeps a table warm has its records before anybody asks, and says what goes wrong.

The threads are the real ones; statements go through the gateway's routes.
"""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from federation.options.config import Config
from sql_gateway.app import create_app, gateway_tables
from sql_gateway.settings import parse_settings
from sql_gateway.warm import Warmer
from tests.builders import Lake, delete_topic, produce, wait_until
from tests.conftest import MakeLake
from tests.sql_gateway.door import query

pytestmark = pytest.mark.kafka


def config_of(*lakes: Lake, mode: str = "warm") -> Config:
    return Config(tables={lake.table: {**lake.options, "hotStore": mode} for lake in lakes})


def test_records_are_resident_before_they_are_asked_for(lake: MakeLake) -> None:
    warm = lake(partitions=1)
    config = config_of(warm)
    warmer = Warmer(gateway_tables(config), every_ms=20)
    client = create_app(config, parse_settings({}), warmer).test_client()
    warmer.start()
    try:
        for turn in range(3):
            produce(warm.bootstrap, warm.topic, [{"producer": "p", "seq": i} for i in range(4)])

            def is_resident(rows: int = 4 * (turn + 1)) -> bool:
                [table] = query(client, f"select * from {warm.table}")["receipt"]["tables"]
                assert table["rows_hot"] == rows
                return bool(table["records_fetched"] == 0)

            wait_until(is_resident, "the records to be resident")
    finally:
        warmer.stop()
    health = client.get("/healthz").get_json()
    assert health == {"status": "ok", "warm": {"tables": 1, "looked_at": 1, "errors": []}}


def test_what_goes_wrong_is_told_and_ends_nothing(lake: MakeLake) -> None:
    good, gone = lake(partitions=1), lake(partitions=1)
    delete_topic(gone.bootstrap, gone.topic)
    warmer = Warmer(gateway_tables(config_of(good, gone)), every_ms=20)
    warmer.start()
    try:
        wait_until(lambda: warmer.health()["errors"] == ["TOPIC_NOT_FOUND"], "the error to show")
        wait_until(lambda: warmer.health()["looked_at"] == 2, "both to be looked at")
    finally:
        warmer.stop()

    assert not [thread for thread in threading.enumerate() if thread.name.startswith("warm ")]


def test_only_tables_that_want_it_are_kept_warm(lake: MakeLake) -> None:
    cold = replace(lake(partitions=1), table="lake.other")

    assert Warmer(gateway_tables(config_of(cold, mode="on_demand")), every_ms=20).health()["tables"] == 0
