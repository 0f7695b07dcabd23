"""The reference JSON decoder: one record at a time, and it can say why one is bad.

It defines what a JSON record means. The reader in C must agree with it, and leaves to it what that does not
take; where there is no C, it decodes everything. So each column's type becomes one function, once.

    column              JSON value
    boolean             true, false
    int, long           a number written without fraction or exponent, in range
    float, double       a number (NaN and Infinity literals included)
    decimal(p, s)       a number, or a string holding one, that fits without rounding
    string              a string
    date                "YYYY-MM-DD"
    time                "HH:MM:SS[.ffffff]"
    timestamp           "YYYY-MM-DDTHH:MM:SS[.ffffff]", or an integer, which counts `epoch_unit`; in a column
                        of nanoseconds with up to nine digits of fraction, from 1677 to 2262
    timestamptz         the same with an offset or Z, or an integer
    binary, fixed       a base64 string
    uuid                a string of the form "8-4-4-4-12", of hexadecimal digits
    struct              an object        list   an array      map   an object
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from hotset.decode.decoded import Decoded, MisfitError, decode_one_by_one
from hotset.decode.json.epoch_unit import EpochUnit
from hotset.decode.json.json_document import kind_of, parse_object
from hotset.decode.json.json_scalars import Convert, misfit, scalar_converter, string_converter
from hotset.decode.matching_fields import is_marked, require_common_field
from hotset.errors import UnsupportedFormatError


def decode_exactly(
    payloads: pa.BinaryArray, schema: pa.Schema, epoch_unit: EpochUnit = EpochUnit.MILLIS
) -> Decoded:
    """Decode each payload's JSON object into one row of `schema`, one by one.

    Args:
        payloads: The documents.
        schema: The columns wanted.
        epoch_unit: What a number in a column of timestamps counts.

    Raises:
        UnsupportedFormatError: A column's type has no JSON form.
    """
    # Whether a column may be null is asked where all that fills it is known.
    unmapped, found = set[str](), set[str]()
    make = _Converters(epoch_unit, found)
    columns = [(field.name, make.reader(field.with_nullable(nullable=True), "")) for field in schema]
    names, is_row = set(schema.names), is_marked(schema.metadata)

    def read(payload: bytes) -> list[Any]:
        record = parse_object(payload)
        if is_row:
            require_common_field(record, schema.names)
        found.clear()
        row = [convert(record.get(name)) for name, convert in columns]
        # Of rows alone; what is bad is told of in another way.
        unmapped.update(found, record.keys() - names)
        return row

    return replace(decode_one_by_one(payloads, schema, read), unmapped=frozenset(unmapped))


@dataclass(frozen=True, slots=True)
class _Converters:
    """Makes functions of types.

    Attributes:
        epoch_unit: What a number in a column of timestamps counts.
        unmapped: Gathers paths of fields inside of columns that nothing is for.
    """

    epoch_unit: EpochUnit
    unmapped: set[str]

    def reader(self, field: pa.Field, above: str) -> Convert:
        """Return what makes a value of a field, or null."""
        name, is_required = field.name, not field.nullable
        convert = self._converter(field.type, f"{above}{name}.")
        row = [part.name for part in field.type] if is_marked(field.metadata) else None

        def read(value: Any) -> Any:
            if value is None:
                if is_required:
                    raise MisfitError(f"column {name!r} is required, and is absent or null")
                return None
            if row is not None and type(value) is dict:
                require_common_field(value, row, f"its {name!r}")
            try:
                return convert(value)
            except MisfitError as exc:
                raise MisfitError(f"column {name!r} {exc}") from None

        return read

    def _converter(self, wanted: pa.DataType, path: str) -> Convert:
        if pa.types.is_struct(wanted):
            return self._struct(wanted, path)
        if pa.types.is_list(wanted):
            return self._list(wanted, path)
        if pa.types.is_map(wanted):
            return self._map(wanted, path)
        return scalar_converter(wanted, self.epoch_unit) or _unsupported(wanted)

    def _struct(self, wanted: pa.StructType, path: str) -> Convert:
        parts = [(field.name, self.reader(field, path)) for field in wanted]
        names, unmapped = {name for name, _ in parts}, self.unmapped

        def convert(value: Any) -> dict[str, Any]:
            if type(value) is not dict:
                raise misfit(wanted, kind_of(value))
            if not names.issuperset(value):
                unmapped.update(path + name for name in value.keys() - names)
            return {name: read(value.get(name)) for name, read in parts}

        return convert

    def _list(self, wanted: pa.ListType, path: str) -> Convert:
        read = self.reader(wanted.value_field, path)

        def convert(value: Any) -> list[Any]:
            if type(value) is not list:
                raise misfit(wanted, kind_of(value))
            return [read(item) for item in value]

        return convert

    def _map(self, wanted: pa.MapType, path: str) -> Convert:
        as_text = string_converter(wanted.key_type)
        read = self.reader(wanted.item_field.with_name("value"), path)
        has_strings = pa.types.is_string(wanted.key_type)

        def convert(value: Any) -> list[tuple[str, Any]]:
            if type(value) is not dict:
                raise misfit(wanted, kind_of(value))
            if not has_strings:
                raise UnsupportedFormatError(
                    f"a JSON object cannot be a {wanted}: its keys are strings; use another value format"
                )
            keys = [as_text(key) for key in value]
            return [(key, read(value[key])) for key in keys]

        return convert


def _unsupported(wanted: pa.DataType) -> Convert:
    # A column of nulls is no error.
    def convert(_value: Any) -> Any:
        raise UnsupportedFormatError(f"JSON has no form for a column of type {wanted}; use another format")

    return convert
