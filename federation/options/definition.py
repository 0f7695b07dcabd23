"""What a federated table is, once its options are settled.

Options come from three places; the order is read option, configuration file,
table property. The result is a frozen value that may travel anywhere: secrets
in it are references. Settling is pure, so it can be repeated for each cut with
the table's own properties.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from coldset.table import check_properties
from federation.errors import OptionError
from federation.options.ddl import parse_schema
from federation.options.options import check_options, integer_of, table_options, under, value_of
from federation.options.passthrough import REGISTRY
from federation.options.table_part import Part, split_name
from hotset.decode import FIELDS, BadRecords, Envelope, RecordFormat
from hotset.kafka import Isolation
from hotset.registry import check_names
from hotset.store import StoreSettings


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """One table, its topic, and how to read both.

    Invariant: `topic` is None exactly if the table is read alone (`read=cold`), and
    `hot_schema` is one exactly if the topic is (`read=hot`).
    Secrets in the properties are references. `kafka_columns` are those that an
    option names; `recognises_columns` says whether known names count without one.
    `states_isolation` says whether an option names the isolation, or it is the default.
    """

    name: str
    catalog_name: str
    catalog_properties: Mapping[str, str] = field(repr=False)
    topic: str | None
    kafka_properties: Mapping[str, str] = field(repr=False)
    isolation: Isolation
    states_isolation: bool
    record_format: RecordFormat
    accepts_gaps: bool
    hot_schema: pa.Schema | None = field(repr=False)
    boundary: str
    merge: str | None
    checkpoints: tuple[str, ...]
    redpanda_url: str | None
    kafka_columns: Mapping[str, str]
    recognises_columns: bool
    declared_offsets: str | None
    snapshot_id: int | None
    ref: str | None
    max_hot_records: int | None
    max_hot_bytes: int | None
    max_drain_bytes: int
    max_records_per_split: int
    split_bytes: int
    plan_timeout_ms: int
    read_timeout_ms: int
    no_progress_timeout_ms: int
    store: StoreSettings | None


def merge_options(name: str, read: Mapping[str, str], file: Mapping[str, str]) -> dict[str, str]:
    """Merge read options over those of the configuration file.

    Raises:
        OptionError: An option is unknown or malformed, or names another table.
        CatalogConfigError: A catalog property is one that only the file may set.
    """
    if split_name(name)[1] is not Part.ROWS:
        raise OptionError(
            f"{name!r} is not a table but a part of {split_name(name)[0]!r}; name that one", option="path"
        )
    checked = check_options(read)
    check_properties(under(checked, "catalog."))
    merged = {**check_options(file), **checked}
    if merged.get("path", name) != name:
        raise OptionError(f"option path says {merged['path']!r}, and the table is {name!r}", option="path")
    return {**merged, "path": name}


def define(options: Mapping[str, str], properties: Mapping[str, str]) -> TableDefinition:
    """Settle the options of one table.

    Args:
        options: From `merge_options`.
        properties: The Iceberg table's properties.

    Raises:
        OptionError: Something required is missing, or options contradict.
        RegistryConfigError: The format needs a schema registry, and its properties are not right.
    """
    settled = {**table_options(properties), **options}
    name = settled["path"]
    is_plain = value_of(settled, "read") == "cold"
    topic = settled.get("subscribe")
    if not is_plain and topic is None:
        raise OptionError(
            f"table {name!r} has no topic; set option 'subscribe', or table property "
            "'kafkaiceberg.subscribe', "
            "or read=cold for a plain table",
            option="subscribe",
        )
    chosen = [key for key in ("snapshot-id", "branch", "tag") if key in settled]
    if len(chosen) > 1:
        raise OptionError(
            f"options {' and '.join(chosen)} exclude each other; give one of them", option=chosen[1]
        )
    kafka = under(settled, "kafka.")
    if not is_plain and "bootstrap.servers" not in kafka:
        raise OptionError(
            f"table {name!r} has no option 'kafka.bootstrap.servers'; set it to host:port of a broker",
            option="kafka.bootstrap.servers",
        )
    return TableDefinition(
        name=name,
        catalog_name=value_of(settled, "catalog.name") or "default",
        catalog_properties=under(settled, "catalog."),
        topic=None if is_plain else topic,
        kafka_properties=kafka,
        isolation=Isolation(value_of(settled, "kafka.isolation.level") or ""),
        states_isolation="kafka.isolation.level" in settled,
        record_format=_record_format(settled),
        accepts_gaps=value_of(settled, "failOnDataLoss") == "false",
        hot_schema=_hot_schema(settled),
        boundary=value_of(settled, "boundary") or "auto",
        merge=settled.get("merge"),
        checkpoints=list_of(settled, "checkpointLocation") or (),
        redpanda_url=settled.get("redpandaUrl"),
        kafka_columns=_kafka_columns(settled),
        recognises_columns="kafkaColumns" not in settled,
        declared_offsets=settled.get("committedOffsets"),
        snapshot_id=integer_of(settled, "snapshot-id"),
        ref=settled.get("branch") or settled.get("tag"),
        max_hot_records=integer_of(settled, "maxHotRecords"),
        max_hot_bytes=integer_of(settled, "maxHotBytes"),
        max_drain_bytes=_required(settled, "maxDrainBytes"),
        max_records_per_split=_required(settled, "maxRecordsPerPartition"),
        split_bytes=_required(settled, "split-size"),
        plan_timeout_ms=_required(settled, "planTimeoutMs"),
        read_timeout_ms=_required(settled, "readTimeoutMs"),
        no_progress_timeout_ms=_required(settled, "noProgressTimeoutMs"),
        store=store_settings(settled),
    )


def list_of(options: Mapping[str, str], name: str) -> tuple[str, ...] | None:
    """Return the parts of a list option, or None if it is not given."""
    text = options.get(name)
    return None if text is None else tuple(part.strip() for part in text.split(","))


def _hot_schema(options: Mapping[str, str]) -> pa.Schema | None:
    text = options.get("schema")
    if value_of(options, "read") != "hot":
        if text is not None:
            raise OptionError("option 'schema' needs read=hot; a table has its own schema", option="schema")
        return None
    if text is None:
        raise OptionError(
            "read=hot needs option 'schema', such as 'order_id bigint, region string'", option="schema"
        )
    for name in ("snapshot-id", "branch", "tag", "committedOffsets"):
        if name in options:
            raise OptionError(f"read=hot reads no table, so option {name!r} says nothing", option=name)
    return parse_schema(text)


def _record_format(options: Mapping[str, str]) -> RecordFormat:
    key, key_fields = options.get("keyFormat"), list_of(options, "keyFields") or ()
    envelope = _envelope(options)
    # With an envelope the key may be for a column of its own.
    if key is None if key_fields else key is not None and envelope is None:
        raise OptionError("options 'keyFormat' and 'keyFields' go together; give both", option="keyFormat")
    if len(set(key_fields)) < len(key_fields):
        raise OptionError("option 'keyFields' names one column twice", option="keyFields")
    reader = value_of(options, "readerSchema") or "none"
    if reader not in ("none", "latest") and not (reader.isdecimal() and int(reader) < 1 << 32):
        raise OptionError(
            f"option 'readerSchema' is none, latest or a schema id, not {reader!r}", option="readerSchema"
        )
    found = RecordFormat(
        value=value_of(options, "valueFormat") or "json",
        skips_tombstones=_skips_tombstones(options, envelope),
        bad_records=BadRecords(value_of(options, "badRecords") or ""),
        key=key,
        key_fields=key_fields,
        registry=tuple(sorted(under(options, REGISTRY).items())),
        reader_schema=reader,
        envelope=envelope,
    )
    if reader != "none" and found.value != "avro":
        raise OptionError(
            f"option 'readerSchema' is for valueFormat=avro, and the format is {found.value}; leave it out",
            option="readerSchema",
        )
    if found.needs_registry and value_of(options, "read") != "cold":
        check_names(dict(found.registry))
    return found


def _envelope(options: Mapping[str, str]) -> Envelope | None:
    shape = value_of(options, "envelope") or ""
    if shape != "none":
        return Envelope(shape, options.get("operationColumn"), options.get("cdc.target.pattern"))
    for name in ("operationColumn", "cdc.target.pattern"):
        if name in options:
            raise OptionError(f"option {name!r} needs option 'envelope'", option=name)
    return None


def _skips_tombstones(options: Mapping[str, str], envelope: Envelope | None) -> bool:
    # Debezium follows each delete with a record without a value, which says nothing more.
    if envelope is not None and "tombstones" not in options:
        return True
    return value_of(options, "tombstones") == "skip"


def _kafka_columns(options: Mapping[str, str]) -> dict[str, str]:
    named: dict[str, str] = {}
    given = list_of(options, "kafkaColumns") or ()
    if given == ("none",):
        return named
    for part in given:
        field, _, column = part.partition("=")
        if field not in FIELDS or not column:
            raise OptionError(
                f"option 'kafkaColumns' has {part!r}, which is not of the form field=column with a field of "
                f"{', '.join(FIELDS)}",
                option="kafkaColumns",
            )
        named[field] = column
    if given and value_of(options, "boundary") == "columns" and not {"partition", "offset"} <= set(named):
        raise OptionError(
            "boundary=columns needs option 'kafkaColumns' with partition and offset", option="kafkaColumns"
        )
    return named


def store_settings(options: Mapping[str, str]) -> StoreSettings | None:
    """Return where a table's hot records are kept, or None if they are not.

    Raises:
        OptionError: The number of bytes is none.
    """
    if value_of(options, "hotStore") == "off":
        return None
    return StoreSettings(value_of(options, "hotStorePath"), _required(options, "hotStoreBytes"))


def _required(options: Mapping[str, str], name: str) -> int:
    value = integer_of(options, name)
    assert value is not None, f"option {name} has a default"
    return value
