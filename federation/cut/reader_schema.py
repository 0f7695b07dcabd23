"""Which schema `readerSchema=latest` means: one for a cut, and the same for whoever reads that cut.

What a registry calls the latest may be another a moment later, and then the same records
become other rows. So it is asked once when a cut is taken, and the cut carries the
answer. The file must not know how a schema is used.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from federation.cut.cut import Cut, ReaderSchema
from federation.errors import CutTokenError
from federation.options import OPTIONS, REGISTRY_PREFIX, TableDefinition, resolve
from foundation.deadline import Deadline
from hotset.decode import RecordFormat
from hotset.errors import RegistryProtocolError
from hotset.registry import RegisteredSchema, SchemaRegistry, registry_for

_LATEST: Final = "latest"


def registry_of(record_format: RecordFormat) -> SchemaRegistry | None:
    """Return the registry that a format needs, if it needs one.

    Raises:
        RegistryConfigError: Its properties are not right.
        OptionError: A secret's reference names nothing here.
    """
    if not record_format.needs_registry:
        return None
    # Under its whole name, which is what an error about a secret tells.
    named = {REGISTRY_PREFIX + name: value for name, value in record_format.registry}
    return registry_for(OPTIONS.under(resolve(named), REGISTRY_PREFIX))


def pin_latest(cut: Cut, definition: TableDefinition, deadline: Deadline) -> tuple[Cut, TableDefinition]:
    """Ask which schema is the latest, if that matters; the cut and the definition then name it.

    Args:
        cut: Just taken; the registry's answer may be half a minute older.
        definition: How the table is read.
        deadline: When the registry must have answered.

    Raises:
        SchemaNotFoundError: The topic's values have no schema.
        RegistryProtocolError: The registry did not say which it is.
        HotsetError: The registry could not be asked.
    """
    if definition.record_format.reader_schema != _LATEST or not cut.hot_span:
        return cut, definition
    registry, subject = _asked(definition)
    found = _place(registry.latest(subject, deadline.remaining_s), subject)
    return replace(cut, reader_schema=found), _naming(definition, found)


def resume_latest(cut: Cut, definition: TableDefinition, deadline: Deadline) -> TableDefinition:
    """Return a definition that names the schema which was the latest when a cut was taken.

    Raises:
        CutTokenError: The cut does not tell it and needs to, or the other way round; or names
            a schema that is not of the table's topic.
        SchemaNotFoundError: The topic's values do not have that version.
        HotsetError: The registry could not be asked.
    """
    is_wanted, found = definition.record_format.reader_schema == _LATEST, cut.reader_schema
    if found is None and (not is_wanted or not cut.hot_span):
        return definition
    if found is None or not is_wanted:
        told = "does not say" if found is None else "says"
        raise CutTokenError(
            f"the cut of table {cut.table!r} {told} which reader's schema was the latest, and option "
            f"'readerSchema' is {definition.record_format.reader_schema}; take a new cut"
        )
    registry, subject = _asked(definition)
    if _place(registry.version(subject, found.version, deadline.remaining_s), subject) != found:
        raise CutTokenError(
            f"the cut says that version {found.version} of subject {subject!r} is schema id "
            f"{found.schema_id}, which it is not; take a token from a receipt"
        )
    return _naming(definition, found)


def _naming(definition: TableDefinition, found: ReaderSchema) -> TableDefinition:
    named = replace(definition.record_format, reader_schema=str(found.schema_id))
    return replace(definition, record_format=named)


def _asked(definition: TableDefinition) -> tuple[SchemaRegistry, str]:
    registry = registry_of(definition.record_format)
    assert registry is not None, "only Avro has a reader's schema, and it needs a registry"
    return registry, f"{definition.topic}-value"


def _place(schema: RegisteredSchema, subject: str) -> ReaderSchema:
    if schema.version is None or schema.schema_id is None:
        raise RegistryProtocolError(
            f"the schema registry does not say version and id of the latest schema of subject {subject!r}; "
            "name an id in option 'readerSchema'"
        )
    return ReaderSchema(schema.version, schema.schema_id)
