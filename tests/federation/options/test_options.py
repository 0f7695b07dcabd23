"""Options from three places, settled into one definition, and every mistake named.

The order is read option, configuration file, table property; nothing is
guessed, and nothing unknown is passed over.
"""

from __future__ import annotations

import pytest

from federation.errors import OptionError
from federation.options.option_table import OPTIONS
from federation.options.table_definition import define, merge_options
from hotset.kafka.offsets import Isolation

WHOLE = {"subscribe": "orders", "kafka.bootstrap.servers": "broker:9092"}


def merged(**read: str) -> dict[str, str]:
    return merge_options("lake.orders", {**WHOLE, **read}, {})


def test_a_read_option_wins_over_the_file_and_the_file_over_the_property() -> None:
    file = {"subscribe": "from-file", "valueFormat": "json", "kafka.bootstrap.servers": "b:1"}
    properties = {
        "kafkaiceberg.subscribe": "from-property",
        "kafkaiceberg.kafka.isolation.level": "read_uncommitted",
    }

    by_read = define(merge_options("t", {"subscribe": "from-read"}, file), properties)
    by_file = define(merge_options("t", {}, file), properties)
    by_property = define(merge_options("t", {"kafka.bootstrap.servers": "b:1"}, {}), properties)

    assert (by_read.topic, by_file.topic, by_property.topic) == ("from-read", "from-file", "from-property")
    assert by_file.isolation is Isolation.READ_UNCOMMITTED


def test_only_some_options_count_as_table_properties() -> None:
    definition = define(merged(), {"kafkaiceberg.failOnDataLoss": "false", "kafkaiceberg.read": "cold"})

    assert (definition.accepts_gaps, definition.topic) == (False, "orders")


def test_a_malformed_table_property_is_an_error() -> None:
    with pytest.raises(OptionError, match="valueFormat"):
        define(merged(), {"kafkaiceberg.valueFormat": "xml"})


def test_defaults_are_those_of_the_table_of_options() -> None:
    definition = define(merged(), {})

    assert definition.isolation is Isolation.READ_COMMITTED
    assert (definition.plan_timeout_ms, definition.read_timeout_ms) == (10_000, 120_000)
    assert (definition.max_hot_records, definition.snapshot_id, definition.ref) == (None, None, None)


@pytest.mark.parametrize("option", OPTIONS.declared, ids=lambda option: option.name)
def test_names_compare_without_case(option: object) -> None:
    name = option.name  # type: ignore[attr-defined]
    value = {"integer": "7", "boolean": "true"}.get(option.type, "x")  # type: ignore[attr-defined]
    value = option.choices[0] if option.choices else value  # type: ignore[attr-defined]

    assert OPTIONS.check({name.lower(): value}) == {name: value}
    assert OPTIONS.check({name.upper(): value}) == {name: value}


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("subscripe", "subscribe"),
        ("failOnDataLos", "failOnDataLoss"),
        ("value.format", "valueFormat"),
        ("snapshotid", "snapshot-id"),
        ("kafka_bootstrap_servers", "kafka.bootstrap.servers"),
    ],
)
def test_an_unknown_option_is_an_error_that_names_the_nearest(typo: str, meant: str) -> None:
    with pytest.raises(OptionError, match=f"did you mean {meant}") as caught:
        merged(**{typo: "x"})

    assert caught.value.details == {"option": typo}


def test_an_option_like_no_other_points_to_the_list() -> None:
    with pytest.raises(OptionError, match=r"see OPTIONS\.md"):
        merged(zzzzzz="1")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("snapshot-id", "latest"),
        ("snapshot-id", "-1"),
        ("maxHotRecords", "0"),
        ("maxHotRecords", "1e6"),
        ("maxHotRecords", "²"),
        ("planTimeoutMs", "10s"),
        ("planTimeoutMs", ""),
        ("failOnDataLoss", "no"),
        ("failOnDataLoss", "False"),
        ("valueFormat", "thrift"),
        ("kafka.isolation.level", "committed"),
        ("read", "warm"),
        ("columns", "a,,b"),
        ("columns", ""),
        ("subscribe", ""),
        ("branch", ""),
    ],
)
def test_a_malformed_value_is_an_error_that_names_the_option(name: str, value: str) -> None:
    with pytest.raises(OptionError, match=name):
        merged(**{name: value})


@pytest.mark.parametrize("missing", sorted(WHOLE))
def test_what_is_required_and_missing_is_named(missing: str) -> None:
    given = {key: value for key, value in WHOLE.items() if key != missing}

    with pytest.raises(OptionError, match=missing):
        define(merge_options("lake.orders", given, {}), {})


def test_a_plain_table_needs_no_topic() -> None:
    definition = define(merge_options("lake.orders", {"read": "cold"}, {}), {})

    assert definition.topic is None


@pytest.mark.parametrize("pair", [("snapshot-id", "branch"), ("branch", "tag"), ("snapshot-id", "tag")])
def test_only_one_way_to_choose_a_snapshot_may_be_given(pair: tuple[str, str]) -> None:
    with pytest.raises(OptionError, match="exclude each other"):
        define(merged(**dict.fromkeys(pair, "7")), {})


def test_a_path_that_names_another_table_is_an_error() -> None:
    with pytest.raises(OptionError, match=r"lake\.other"):
        merged(path="lake.other")


def test_passthrough_options_lose_their_prefix_and_own_options_stay_out() -> None:
    options = merged(
        **{"kafka.client.id": "me", "catalog.uri": "u", "kafka.isolation.level": "read_committed"}
    )

    definition = define(options, {})

    assert definition.kafka_properties == {"bootstrap.servers": "broker:9092", "client.id": "me"}
    assert definition.catalog_properties == {"uri": "u"}


@pytest.mark.parametrize("name", ["kafka.", "catalog.", "kafka", "Kafka."])
def test_a_prefix_alone_is_no_option(name: str) -> None:
    with pytest.raises(OptionError):
        merged(**{name: "x"})


def test_columns_are_a_list_with_spaces_allowed() -> None:
    assert OPTIONS.list_of({"columns": " id, note"}, "columns") == ("id", "note")
    assert OPTIONS.list_of({}, "columns") is None


def test_latest_is_named_as_not_there_yet() -> None:
    with pytest.raises(ValueError, match="rows are not merged by key yet"):
        merged(merge="latest")
