"""What a federated table is, once its options are settled, and which parts of it have a name.

Options come from three places; the order is read option, configuration file,
table property. The result is a frozen value that may travel anywhere: secrets
in it are references. Settling is pure, so it can be repeated for each cut with
the table's own properties.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import pyarrow as pa

from coldset.table import check_properties
from federation.errors import OptionError
from federation.options.ddl import parse_schema
from federation.options.option_table import OPTIONS, REGISTRY_PREFIX, table_options
from hotset.decode import FIELDS, BadRecords, Envelope, EpochUnit, RecordFormat
from hotset.kafka import Isolation
from hotset.registry import check_names
from hotset.store import StoreSettings

_MARK: Final = "$"


class Part(StrEnum):
    """What of a table can be read by a name: its rows, and records of its topic that are none.

    `shop.orders$dead_letters` is no table of its own: it has the cut, the options and the receipt of
    `shop.orders`.
    """

    ROWS = ""
    DEAD_LETTERS = "dead_letters"

    def of(self, table: str) -> str:
        """Return the name of this part of a table."""
        return table if self is Part.ROWS else f"{table}{_MARK}{self.value}"


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
    as_of_ms: int | None
    ref: str | None
    filter: str | None
    max_hot_records: int | None
    max_hot_bytes: int | None
    max_drain_bytes: int
    max_records_per_split: int
    split_bytes: int
    plan_timeout_ms: int
    read_timeout_ms: int
    no_progress_timeout_ms: int
    store: StoreSettings | None
    chunk_store: StoreSettings
    scratch: str | None
    keep_ephemeral_ms: int


def split_name(name: str) -> tuple[str, Part]:
    """Return the table that a name means, and which part of it."""
    table, mark, part = name.rpartition(_MARK)
    if mark and table and part.lower() == Part.DEAD_LETTERS:
        return table, Part.DEAD_LETTERS
    return name, Part.ROWS


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
    checked = OPTIONS.check(read)
    check_properties(OPTIONS.under(checked, "catalog."))
    merged = {**OPTIONS.check(file), **checked}
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
    is_plain = OPTIONS.value_of(settled, "read") == "cold"
    topic = settled.get("subscribe")
    if not is_plain and topic is None:
        raise OptionError(
            f"table {name!r} has no topic; set option 'subscribe', or table property "
            "'kafkaiceberg.subscribe', "
            "or read=cold for a plain table",
            option="subscribe",
        )
    chosen = [key for key in ("snapshot-id", "branch", "tag", "as-of") if key in settled]
    if len(chosen) > 1 and chosen != ["branch", "as-of"]:
        raise OptionError(
            f"options {' and '.join(chosen)} exclude each other; give one of them", option=chosen[1]
        )
    kafka = OPTIONS.under(settled, "kafka.")
    if not is_plain and "bootstrap.servers" not in kafka:
        raise OptionError(
            f"table {name!r} has no option 'kafka.bootstrap.servers'; set it to host:port of a broker",
            option="kafka.bootstrap.servers",
        )
    return TableDefinition(
        name=name,
        catalog_name=OPTIONS.text_of(settled, "catalog.name"),
        catalog_properties=OPTIONS.under(settled, "catalog."),
        topic=None if is_plain else topic,
        kafka_properties=kafka,
        isolation=Isolation(OPTIONS.text_of(settled, "kafka.isolation.level")),
        states_isolation="kafka.isolation.level" in settled,
        record_format=_record_format(settled),
        accepts_gaps=OPTIONS.value_of(settled, "failOnDataLoss") == "false",
        hot_schema=_hot_schema(settled),
        boundary=OPTIONS.text_of(settled, "boundary"),
        merge=settled.get("merge"),
        checkpoints=OPTIONS.list_of(settled, "checkpointLocation") or (),
        redpanda_url=settled.get("redpandaUrl"),
        kafka_columns=_kafka_columns(settled),
        recognises_columns="kafkaColumns" not in settled,
        declared_offsets=settled.get("committedOffsets"),
        snapshot_id=_integer_or_none(settled, "snapshot-id"),
        as_of_ms=None,
        ref=settled.get("branch") or settled.get("tag"),
        filter=settled.get("filter"),
        max_hot_records=_integer_or_none(settled, "maxHotRecords"),
        max_hot_bytes=_integer_or_none(settled, "maxHotBytes"),
        max_drain_bytes=OPTIONS.integer_of(settled, "maxDrainBytes"),
        max_records_per_split=OPTIONS.integer_of(settled, "maxRecordsPerPartition"),
        split_bytes=OPTIONS.integer_of(settled, "split-size"),
        plan_timeout_ms=OPTIONS.integer_of(settled, "planTimeoutMs"),
        read_timeout_ms=OPTIONS.integer_of(settled, "readTimeoutMs"),
        no_progress_timeout_ms=OPTIONS.integer_of(settled, "noProgressTimeoutMs"),
        store=store_settings(settled),
        chunk_store=_place_of_chunks(settled),
        scratch=settled.get("scratchLocation"),
        keep_ephemeral_ms=OPTIONS.integer_of(settled, "ephemeralKeepMs"),
    )


def _hot_schema(options: Mapping[str, str]) -> pa.Schema | None:
    text = options.get("schema")
    if OPTIONS.value_of(options, "read") != "hot":
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
    key, key_fields = options.get("keyFormat"), OPTIONS.list_of(options, "keyFields") or ()
    envelope, unit = _envelope(options), OPTIONS.text_of(options, "timestampNumbers")
    # With an envelope the key may be for a column of its own.
    if key is None if key_fields else key is not None and envelope is None:
        raise OptionError("options 'keyFormat' and 'keyFields' go together; give both", option="keyFormat")
    if len(set(key_fields)) < len(key_fields):
        raise OptionError("option 'keyFields' names one column twice", option="keyFields")
    reader = OPTIONS.text_of(options, "readerSchema")
    if reader not in ("none", "latest") and not (reader.isdecimal() and int(reader) < 1 << 32):
        raise OptionError(
            f"option 'readerSchema' is none, latest or a schema id, not {reader!r}", option="readerSchema"
        )
    found = RecordFormat(
        value=OPTIONS.text_of(options, "valueFormat"),
        skips_tombstones=_skips_tombstones(options, envelope),
        bad_records=BadRecords(OPTIONS.text_of(options, "badRecords")),
        key=key,
        key_fields=key_fields,
        registry=tuple(sorted(OPTIONS.under(options, REGISTRY_PREFIX).items())),
        reader_schema=reader,
        envelope=envelope,
        epoch_unit=None if unit == "writer" else EpochUnit(unit),
    )
    if reader != "none" and found.value != "avro":
        raise OptionError(
            f"option 'readerSchema' is for valueFormat=avro, and the format is {found.value}; leave it out",
            option="readerSchema",
        )
    if found.needs_registry and OPTIONS.value_of(options, "read") != "cold":
        check_names(dict(found.registry))
    return found


def _envelope(options: Mapping[str, str]) -> Envelope | None:
    shape = OPTIONS.text_of(options, "envelope")
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
    return OPTIONS.value_of(options, "tombstones") == "skip"


def _kafka_columns(options: Mapping[str, str]) -> dict[str, str]:
    named: dict[str, str] = {}
    given = OPTIONS.list_of(options, "kafkaColumns") or ()
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
    if (
        given
        and OPTIONS.value_of(options, "boundary") == "columns"
        and not {"partition", "offset"} <= set(named)
    ):
        raise OptionError(
            "boundary=columns needs option 'kafkaColumns' with partition and offset", option="kafkaColumns"
        )
    return named


def store_settings(options: Mapping[str, str]) -> StoreSettings | None:
    """Return where a table's hot records are kept, or None if they are not.

    Raises:
        OptionError: The number of bytes is none.
    """
    if OPTIONS.value_of(options, "hotStore") == "off":
        return None
    return _place_of_chunks(options)


def _place_of_chunks(options: Mapping[str, str]) -> StoreSettings:
    return StoreSettings(
        OPTIONS.value_of(options, "hotStorePath"), OPTIONS.integer_of(options, "hotStoreBytes")
    )


def _integer_or_none(options: Mapping[str, str], name: str) -> int | None:
    return OPTIONS.integer_of(options, name) if name in options else None
