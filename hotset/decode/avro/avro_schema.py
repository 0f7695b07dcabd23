"""Avro schemas as values: their JSON parsed, names resolved, logical types recognised.

What the specification says to ignore is ignored here: attributes nobody defines,
logical types that are unknown or do not fit the type they are on. This file must
not know columns or Arrow; whatever it cannot make sense of is a mismatch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hotset.errors import SchemaMismatchError
from hotset.registry import RegisteredSchema

MAX_DEPTH: Final = 64
_PLAIN: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_LOGICAL: Final = {
    "int": ("date", "time-millis"),
    "long": (
        "time-micros",
        "timestamp-millis",
        "timestamp-micros",
        "timestamp-nanos",
        "local-timestamp-millis",
        "local-timestamp-micros",
        "local-timestamp-nanos",
    ),
    "string": ("uuid",),
}
_UUID_BYTES: Final = 16
_DURATION_BYTES: Final = 12
_COUNTED_BYTES: Final = 4096


class NoDefault:
    """Stands where a field has no default, since null is one."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type without parts.

    Attributes:
        kind: `null`, `boolean`, ..., `string`, `fixed` or `enum`.
        logical: The logical type, if it is known and valid here.
        size: Bytes of a fixed.
        precision: Digits of a decimal.
        scale: Its digits after the point.
        symbols: Names of an enum.
    """

    kind: str
    logical: str | None = None
    size: int = 0
    precision: int = 0
    scale: int = 0
    symbols: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The name by which the table of types knows it."""
        if self.logical in ("decimal", "uuid"):
            return f"{self.logical} ({self.kind})"
        return self.logical or self.kind


@dataclass(frozen=True, slots=True)
class Array:
    """Any number of one type."""

    items: AvroType


@dataclass(frozen=True, slots=True)
class Map:
    """Any number of one type, each under a string."""

    values: AvroType


@dataclass(frozen=True, slots=True)
class Union:
    """One of several types; records say which."""

    branches: tuple[AvroType, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a record, with the names it once had."""

    name: str
    type: AvroType
    aliases: tuple[str, ...] = ()
    default: Any = NoDefault


@dataclass(frozen=True, slots=True)
class Record:
    """Named fields, written one after another."""

    name: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A type by its name, which may be one that this stands inside of."""

    name: str
    names: Mapping[str, AvroType] = field(repr=False, compare=False)


AvroType = Scalar | Array | Map | Union | Record | Named


def resolve(found: AvroType) -> Scalar | Array | Map | Union | Record:
    """Return what a name means; anything else is returned as it is."""
    while isinstance(found, Named):
        found = found.names[found.name]
    return found


def parse_schema(registered: RegisteredSchema) -> AvroType:
    """Return the type that a schema describes.

    Raises:
        SchemaMismatchError: It is not an Avro schema.
    """
    try:
        return _Parser().parse(registered)
    except RecursionError:
        raise _invalid("is nested too deeply") from None


class _Parser:
    def __init__(self) -> None:
        self._names: dict[str, AvroType] = {}
        self._texts: set[str] = set()

    def parse(self, registered: RegisteredSchema) -> AvroType:
        for name, reference in registered.references:
            if reference.text not in self._texts:
                self._texts.add(reference.text)
                self._names.setdefault(name, self.parse(reference))
        try:
            tree = json.loads(registered.text)
        except ValueError:
            raise _invalid("is not JSON") from None
        return self._type(tree, "", 0)

    def _type(self, tree: Any, namespace: str, depth: int) -> AvroType:
        if depth > MAX_DEPTH:
            raise _invalid(f"is nested more than {MAX_DEPTH} levels deep")
        if isinstance(tree, str):
            return Scalar(tree) if tree in _PLAIN else self._named(tree, namespace)
        if isinstance(tree, list):
            return Union(tuple(self._type(branch, namespace, depth + 1) for branch in tree))
        if not isinstance(tree, dict):
            raise _invalid(f"has {tree!r} where a type is expected")
        kind = tree.get("type")
        if isinstance(kind, str):
            return self._of_kind(kind, tree, namespace, depth)
        return self._type(kind, namespace, depth + 1)

    def _of_kind(self, kind: str, tree: dict[str, Any], namespace: str, depth: int) -> AvroType:
        if kind == "array":
            return Array(self._type(tree.get("items"), namespace, depth + 1))
        if kind == "map":
            return Map(self._type(tree.get("values"), namespace, depth + 1))
        if kind in _PLAIN:
            return _with_logical(Scalar(kind), tree)
        if kind not in ("record", "error", "enum", "fixed"):
            return self._named(kind, namespace)
        name = _full_name(tree, namespace)
        if name in self._names:
            raise _invalid(f"defines {name!r} twice")
        # Its own fields may name it already.
        self._names[name] = Named(name, self._names)
        if kind == "enum":
            made: AvroType = Scalar("enum", symbols=_symbols(tree, name))
        elif kind == "fixed":
            made = _with_logical(Scalar("fixed", size=_size(tree, name)), tree)
        else:
            made = Record(name, self._fields(tree, name, depth))
        self._names[name] = made
        return made

    def _named(self, name: str, namespace: str) -> AvroType:
        # As Java does it: a short name is also looked for outside of the namespace.
        for full in (f"{namespace}.{name}" if namespace and "." not in name else name, name):
            if full in self._names:
                return Named(full, self._names)
        raise _invalid(f"names a type {name!r} that neither it nor its references define")

    def _fields(self, tree: dict[str, Any], name: str, depth: int) -> tuple[Field, ...]:
        listed = tree.get("fields")
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
            raise _invalid(f"has a record {name!r} without a list of fields")
        namespace = name.rpartition(".")[0]
        fields = tuple(
            Field(
                _text(each, "name"),
                self._type(each.get("type"), namespace, depth + 1),
                tuple(alias for alias in each.get("aliases") or () if isinstance(alias, str)),
                each.get("default", NoDefault),
            )
            for each in listed
        )
        if len({each.name for each in fields}) < len(fields):
            raise _invalid(f"has a record {name!r} with two fields of one name")
        return fields


def _with_logical(scalar: Scalar, tree: dict[str, Any]) -> Scalar:
    name, kind, size = tree.get("logicalType"), scalar.kind, scalar.size
    if name == "decimal" and kind in ("bytes", "fixed"):
        precision: Any = tree.get("precision")
        scale: Any = tree.get("scale", 0)
        if _is_decimal(precision, scale, size if kind == "fixed" else None):
            return Scalar(kind, "decimal", size, precision, scale)
        return scalar
    is_known = name in _LOGICAL.get(kind, ()) or (
        kind == "fixed" and (name, size) in (("uuid", _UUID_BYTES), ("duration", _DURATION_BYTES))
    )
    return Scalar(kind, name, size) if is_known else scalar


def _is_decimal(precision: Any, scale: Any, size: int | None) -> bool:
    if type(precision) is not int or type(scale) is not int or not 0 <= scale <= precision or precision < 1:
        return False
    # A fixed must have room for all the digits it promises. Two a byte there always is; more is counted.
    if size is None or precision <= 2 * size:
        return True
    return precision < 3 * size < _COUNTED_BYTES and 10**precision <= 1 << (8 * size - 1)


def _full_name(tree: dict[str, Any], namespace: str) -> str:
    name = _text(tree, "name")
    inner = tree.get("namespace", namespace)
    return f"{inner}.{name}" if isinstance(inner, str) and inner and "." not in name else name


def _text(tree: dict[str, Any], key: str) -> str:
    found = tree.get(key)
    if not isinstance(found, str) or not found:
        raise _invalid(f"has a type or field without a {key}")
    return found


def _symbols(tree: dict[str, Any], name: str) -> tuple[str, ...]:
    found = tree.get("symbols")
    if not isinstance(found, list) or not all(isinstance(symbol, str) for symbol in found):
        raise _invalid(f"has an enum {name!r} without a list of symbols")
    return tuple(found)


def _size(tree: dict[str, Any], name: str) -> int:
    found = tree.get("size")
    if type(found) is not int or not 0 <= found < 1 << 31:
        raise _invalid(f"has a fixed {name!r} without a size")
    return found


def _invalid(what: str) -> SchemaMismatchError:
    return SchemaMismatchError(
        f"a record's Avro schema {what}, so none of its records can be a row of the table; "
        "register a valid one"
    )
