"""The one table of options: name, type, default, help.

Spark options, `kafkaiceberg.toml` and Iceberg table properties are all parsed
against it, and OPTIONS.md is rendered from it. An option that means what a
neighbour's option means keeps that neighbour's spelling. This file performs no
input or output.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Final

from federation.errors import OptionError
from federation.options.option import Option, parse_option
from federation.options.passthrough import prefix_of
from federation.options.record_options import RECORDS
from federation.options.secrets import require_reference
from hotset.decode import BadRecords
from hotset.kafka import Isolation

OPTIONS: Final = (
    Option("path", "string", None, "The Iceberg table, `namespace.name`; what `load()` takes."),
    Option("catalog.name", "string", "default", "Name of the Iceberg catalog, as pyiceberg knows it."),
    Option("subscribe", "string", None, "The topic that fills the table.", may_be_table_property=True),
    *RECORDS,
    Option(
        "readerSchema",
        "string",
        "none",
        "Whose aliases and defaults count for Avro values: `none`, `latest` of `<topic>-value`, or an id.",
        may_be_table_property=True,
    ),
    Option(
        "kafka.isolation.level",
        "string",
        Isolation.READ_COMMITTED.value,
        "Which transactional records are visible; must be what the table is written with.",
        tuple(level.value for level in Isolation),
        may_be_table_property=True,
    ),
    Option(
        "read",
        "string",
        "union",
        "`union` of table and topic; `cold` for the table alone, without asking Kafka; `hot` for the topic "
        "alone, from where its log starts, without asking a catalog (option `schema` names its columns).",
        ("union", "cold", "hot"),
    ),
    Option(
        "schema",
        "string",
        None,
        "Columns of a topic that is read alone, in Spark's DDL: `order_id bigint, amount decimal(10,2), "
        "tags array<string>`.",
    ),
    Option(
        "failOnDataLoss",
        "boolean",
        "true",
        "If false, records that retention removed before the table had them are left out, and the receipt "
        "names them; if true they are an error.",
    ),
    Option(
        "boundary",
        "string",
        "auto",
        "Who knows what is committed; `auto` goes by what the snapshot shows.",
        ("auto", "summary", "connect", "spark", "flink", "redpanda", "columns", "declared"),
        may_be_table_property=True,
    ),
    Option(
        "merge",
        "string",
        None,
        "How the halves of a table become one. `append` says that its rows are only ever added, also where "
        "it looks as if it had the latest row of each key, which is an error otherwise.",
        ("append",),
        may_be_table_property=True,
        refused={"latest": "rows are not merged by key yet; read the table alone with read=cold"},
    ),
    Option(
        "checkpointLocation",
        "list",
        None,
        "Checkpoint folders of the Spark streaming queries, or checkpoint and savepoint folders of the Flink "
        "jobs, that fill the table.",
        may_be_table_property=True,
    ),
    Option(
        "redpandaUrl",
        "string",
        None,
        "Address of the HTTP proxy of the Redpanda that fills the table, `http://host:8082` or "
        "`https://user:${env:NAME}@host:8082`; it tells what is committed.",
    ),
    Option(
        "kafkaColumns",
        "list",
        None,
        "Columns that hold where a record came from, such as "
        "`partition=kafka_partition,offset=meta.offset`; also `topic`, `timestamp`, `timestamp_type`, "
        "`key`, `headers` and `value`. Hot rows get them too. Known writers' columns need not be named; "
        "`none` if what looks like them is not.",
        may_be_table_property=True,
    ),
    Option(
        "tombstones",
        "string",
        "fail",
        "What a record without a value is: an error, or dropped as the table's writer drops it and counted "
        "in the receipt.",
        ("fail", "skip"),
        may_be_table_property=True,
    ),
    Option(
        "badRecords",
        "string",
        BadRecords.FAIL.value,
        "What a record that is no row of the table is: an error (`fail`), left out and counted in the "
        "receipt (`skip`), a row of nulls with columns that say why (`null`), or a row of "
        "`<table>$dead_letters` instead (`dead_letter`).",
        tuple(policy.value for policy in BadRecords),
        may_be_table_property=True,
    ),
    Option(
        "committedOffsets",
        "string",
        None,
        'The boundary of one snapshot, declared: `{"snapshot_id": id, "partitions": {"0": next offset}}`, or '
        "`${file:/path}` of a file that says so.",
    ),
    Option("snapshot-id", "integer", None, "Read this snapshot, and the topic from where it ends."),
    Option("branch", "string", None, "Read the head of this branch instead of main."),
    Option("tag", "string", None, "Read the snapshot of this tag."),
    Option("cut", "string", None, "A cut token: read exactly that cut again."),
    Option("columns", "list", None, "The columns to read, separated by commas; all if not given."),
    Option("maxHotRecords", "integer", None, "Refuse a read whose hot ranges span more offsets than this."),
    Option(
        "maxHotBytes",
        "integer",
        None,
        "End a read that takes more bytes of record values out of Kafka than this; in Spark, one hot split.",
    ),
    Option(
        "maxDrainBytes",
        "integer",
        "67108864",
        "Bytes of raw records that reading one hot split holds at a time, at most; a record larger than a "
        "twentieth of it may come on top.",
    ),
    Option("maxRecordsPerPartition", "integer", "250000", "Offsets per hot split of one partition, at most."),
    Option("split-size", "integer", "134217728", "Bytes of data files per cold split, at most."),
    Option(
        "planTimeoutMs",
        "integer",
        "10000",
        "Milliseconds for taking a cut, Kafka's answers included.",
    ),
    Option("readTimeoutMs", "integer", "120000", "Milliseconds for reading one hot split."),
    Option(
        "noProgressTimeoutMs",
        "integer",
        "30000",
        "Milliseconds a hot read may wait without any progress.",
    ),
    Option(
        "hotStore",
        "string",
        "off",
        "Whether records that were read are kept in shared memory for the next reader on this machine: "
        "`on_demand` keeps what is asked for, `warm` in a gateway also reads ahead of questions. A gateway "
        "takes `on_demand` where nothing is said.",
        ("off", "on_demand", "warm"),
    ),
    Option(
        "hotStoreBytes",
        "integer",
        "1073741824",
        "Bytes of shared memory for the hot store, over all processes; what was not used for longest goes. "
        "Never more than half of the file system it is in.",
    ),
    Option(
        "hotStorePath",
        "string",
        None,
        "The hot store's folder, of this user only; if not given, `/dev/shm/kafkaiceberg-<user id>`, or the "
        "like in the folder for temporary files.",
    ),
)

TABLE_PROPERTY_PREFIX: Final = "kafkaiceberg."

_BY_KEY: Final = {option.name.lower(): option for option in OPTIONS}


def check_options(given: Mapping[str, str]) -> dict[str, str]:
    """Return the options under their proper names, if each of them exists and parses.

    Keys compare without case, because Spark lower-cases them.

    Raises:
        OptionError: An option is unknown, malformed, or holds a bare secret.
    """
    checked: dict[str, str] = {}
    for key, value in given.items():
        option = _BY_KEY.get(key.lower())
        if option is not None:
            require_reference(option.name, value)
            parse_option(option, value)
            checked[option.name] = value
        elif (prefix := prefix_of(key)) is not None:
            require_reference(key, value)
            checked[prefix + key[len(prefix) :]] = value
        else:
            raise OptionError(_unknown(key), option=key)
    return checked


def table_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the options set by an Iceberg table's properties.

    Raises:
        OptionError: Such a property is malformed.
    """
    found = {}
    for option in OPTIONS:
        value = properties.get(TABLE_PROPERTY_PREFIX + option.name)
        if option.may_be_table_property and value is not None:
            parse_option(option, value)
            found[option.name] = value
    return found


def value_of(options: Mapping[str, str], name: str) -> str | None:
    """Return the text of an option, or its default.

    Raises:
        KeyError: There is no option of that name (a mistake of ours).
    """
    return options.get(name, _BY_KEY[name.lower()].default)


def integer_of(options: Mapping[str, str], name: str) -> int | None:
    """Return an integer option, or None if neither it nor a default is given.

    Raises:
        OptionError: It is no whole number.
    """
    text = value_of(options, name)
    return None if text is None else int(text)


def under(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the passthrough options of a prefix, without the prefix."""
    return {
        key.removeprefix(prefix): value
        for key, value in options.items()
        if key.startswith(prefix) and key.lower() not in _BY_KEY
    }


def _unknown(key: str) -> str:
    near = difflib.get_close_matches(key.lower(), [*_BY_KEY, "kafka.bootstrap.servers"], n=1)
    meant = [_BY_KEY[each].name if each in _BY_KEY else each for each in near]
    hint = f"did you mean {meant[0]}" if meant else "see OPTIONS.md"
    return f"there is no option {key!r}; {hint}"
