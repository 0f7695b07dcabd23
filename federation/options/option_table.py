"""The one table of options: name, type, default, help.

Spark options, `kafkaiceberg.toml` and Iceberg table properties are all checked against it, and OPTIONS.md is
rendered from it. An option that means what a neighbour's option means keeps that neighbour's spelling.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from federation.options.option_set import Option, OptionSet, parse_option
from hotset.decode import ENVELOPES, FORMATS, BadRecords, EpochUnit
from hotset.kafka import Isolation

TABLE_PROPERTY_PREFIX: Final = "kafkaiceberg."
REGISTRY_PREFIX: Final = "schema.registry."

_CANAL: Final = (
    "a record of Canal has any number of rows, and here a record is one row at most; send a record for each "
    "row, as Debezium and Maxwell do"
)

_DECLARED: Final = (
    Option("path", "string", None, "The Iceberg table, `namespace.name`; what `load()` takes."),
    Option("catalog.name", "string", "default", "Name of the Iceberg catalog, as pyiceberg knows it."),
    Option("subscribe", "string", None, "The topic that fills the table.", may_be_table_property=True),
    Option(
        "valueFormat", "string", "json", "How record values are encoded.", FORMATS, may_be_table_property=True
    ),
    Option(
        "keyFormat",
        "string",
        None,
        "How record keys are encoded, if columns are of the key.",
        FORMATS,
        may_be_table_property=True,
    ),
    Option("keyFields", "list", None, "Columns that keys fill, not values.", may_be_table_property=True),
    Option(
        "envelope",
        "string",
        "none",
        "What record values tell of: rows, or changes to rows as Debezium or Maxwell write them, each of "
        "which becomes a row.",
        ("none", *ENVELOPES),
        may_be_table_property=True,
        refused={"canal": _CANAL, "canal-json": _CANAL},
    ),
    Option(
        "operationColumn",
        "string",
        None,
        "The column that says what was done to a row, in the word of the record: Debezium's `c`, `r`, `u`, "
        "`d`. Not needed if the table has the column `_cdc` of the Kafka Connect sink's Debezium transform.",
        may_be_table_property=True,
    ),
    Option(
        "cdc.target.pattern",
        "string",
        None,
        "What the sink's Debezium transform is told to make `_cdc.target` of; `{db}.{table}` if not given.",
        may_be_table_property=True,
    ),
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
        "timestampNumbers",
        "string",
        "writer",
        "What a number of JSON counts in a column of timestamps, since 1970; `none` makes it a bad record. "
        "`writer` is what it is to the table's writer: `s` to Spark, `none` to Flink, and else `ms`.",
        ("writer", *(unit.value for unit in EpochUnit)),
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
    Option(
        "snapshot-id",
        "integer",
        None,
        "Read this snapshot, and all that the topic has beyond it: the rows of now. For those of then there "
        "is `as-of`, and with `read=cold` the snapshot is read alone.",
    ),
    Option(
        "as-of",
        "string",
        None,
        "Read the rows of an earlier time: those of the table then, and of the records that had arrived by "
        "then and were not in it yet. Milliseconds since 1970, a time such as `2026-11-22T10:00:00Z`, or a "
        "snapshot, which means the time of its commit.",
    ),
    Option("branch", "string", None, "Read the head of this branch instead of main."),
    Option("tag", "string", None, "Read the snapshot of this tag."),
    Option("cut", "string", None, "A cut token: read exactly that cut again."),
    Option("columns", "list", None, "The columns to read, separated by commas; all if not given."),
    Option(
        "filter",
        "string",
        None,
        "A condition in DuckDB's SQL; in Spark's data source and in scans only rows are read for which it is "
        "true, and files and offsets that cannot have such rows are left out.",
    ),
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
    Option("planTimeoutMs", "integer", "10000", "Milliseconds for taking a cut, Kafka's answers included."),
    Option("readTimeoutMs", "integer", "120000", "Milliseconds for reading one hot split."),
    Option("noProgressTimeoutMs", "integer", "30000", "Milliseconds a hot read may wait without progress."),
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
        "The hot store's folder, of this user and without other files; if not given, "
        "`/dev/shm/kafkaiceberg-<user id>`, or the like in the folder for temporary files.",
    ),
    Option(
        "scratchLocation",
        "string",
        None,
        "Where ephemeral snapshots are: a folder or URI that all readers reach, such as Spark's executors. "
        "If not given, the hot store's folder, for readers on this machine.",
    ),
    Option(
        "ephemeralKeepMs",
        "integer",
        "3600000",
        "Milliseconds for which files of an ephemeral snapshot stay after it was handed out, in each process "
        "that shares a `scratchLocation`. A later reader fails with an error that names the file.",
    ),
)

_PASSTHROUGH: Final = {
    "kafka.": "A librdkafka property; `kafka.bootstrap.servers` is required unless `read` is `cold`. "
    "Only properties that cannot run code or change how ranges are read.",
    REGISTRY_PREFIX: "Where schemas are, as Confluent's clients say it: `schema.registry.url` (several "
    "separated by commas); by reference `.basic.auth.user.info` or `.bearer.auth.token`; `.ssl.ca.location`, "
    "`.ssl.certificate.location`, `.ssl.key.location`, `.ssl.key.password`; `.request.timeout.ms` (10000), "
    "milliseconds for one schema with all it refers to.",
    "catalog.": "A pyiceberg catalog property, such as `catalog.type`, `catalog.uri`, `catalog.warehouse`, "
    "`catalog.s3.endpoint`. A REST catalog may be silent for `catalog.rest.client.socket-timeout-ms` (30000) "
    "milliseconds, and take `catalog.rest.client.connection-timeout-ms` (10000) to connect; one in "
    "PostgreSQL has `catalog.sql.connect-timeout-ms` (10000) to connect, and "
    "`catalog.sql.transaction-timeout-ms` (30000) for what it is asked; an S3 store has "
    "`catalog.s3.connect-timeout` (5) and `catalog.s3.request-timeout` (10) seconds for each of a few tries. "
    "Properties that name code, such as `catalog.py-io-impl`, count in the configuration file alone.",
}

OPTIONS: Final = OptionSet("option", _DECLARED, _PASSTHROUGH, near=("kafka.bootstrap.servers",))


def table_options(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the options set by an Iceberg table's properties.

    Raises:
        OptionError: Such a property is malformed.
    """
    found = {}
    for option in OPTIONS.declared:
        value = properties.get(TABLE_PROPERTY_PREFIX + option.name)
        if option.may_be_table_property and value is not None:
            parse_option(option, value)
            found[option.name] = value
    return found
