"""Load a table once, pin the snapshot that its options ask for, and settle its options.

A table's own properties are options too, so what it is can be settled only once it is loaded. Kafka is not
asked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from coldset.errors import CatalogConfigError, TableNotFoundError
from coldset.table import PinnedTable, open_catalog, pin, pin_absent
from federation.cut.as_of import OPTION, parse_as_of, pin_as_of, time_of
from federation.options import OPTIONS, TableDefinition, define, note_absence, resolve


def pin_table(options: Mapping[str, str]) -> tuple[PinnedTable, TableDefinition]:
    """Load the table once, pin the snapshot the options ask for, and settle the options.

    Raises:
        OptionError: Options are missing or contradict.
        ColdsetError: There is no such table or snapshot, or the catalog could not be asked.
    """
    as_of = parse_as_of(options[OPTION]) if OPTION in options else None
    if OPTIONS.value_of(options, "read") == "hot":
        definition = define(options, {})
        assert definition.hot_schema is not None
        pinned = pin_absent(definition.name, definition.hot_schema)
        return pinned, replace(definition, as_of_ms=None if as_of is None else time_of(as_of))
    # The catalog has to be known before the table's own properties can be.
    properties = OPTIONS.under(options, "catalog.")
    try:
        catalog = open_catalog(OPTIONS.text_of(options, "catalog.name"), resolve(properties))
    except CatalogConfigError as exc:
        # pyiceberg has a configuration of its own, so options that say nothing are no error yet.
        raise CatalogConfigError(f"{exc}{'' if properties else note_absence()}") from exc
    snapshot_id, ref = options.get("snapshot-id"), options.get("branch") or options.get("tag")
    time_ms: int | None = None
    try:
        if as_of is not None:
            pinned, time_ms = pin_as_of(catalog, options["path"], as_of, options.get("branch"))
        else:
            number = int(snapshot_id) if snapshot_id else None
            pinned = pin(catalog, options["path"], snapshot_id=number, ref=ref)
    except TableNotFoundError as exc:
        raise TableNotFoundError(
            f"{exc}; a topic that has no table yet is read alone with read=hot and option 'schema'",
            table=options["path"],
        ) from exc
    return pinned, replace(define(options, pinned.properties), as_of_ms=time_ms)
