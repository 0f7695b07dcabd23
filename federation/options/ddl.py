"""Read a schema that a user writes down, in the words of Spark's DDL.

`order_id bigint, amount decimal(10,2), tags array<string>` is what Spark takes as
a schema, so users know it. Only types that an Iceberg table has are taken, and
what is not understood is an error that says where. This file is pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from federation.errors import OptionError

_DEPTH: Final = 32

_TYPES: Final = {
    "bigint": pa.int64(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "double": pa.float64(),
    "float": pa.float32(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "real": pa.float32(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ltz": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_KNOWN: Final = ", ".join(
    sorted([*_TYPES, "decimal(precision,scale)", "array<type>", "map<type,type>", "struct<name:type>"])
)

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<quoted>`(?:[^`]|``)+`)|(?P<word>\w+)|(?P<text>'(?:[^'\\]|\\.|'')*')|(?P<sign>[<>(),:]))"
)


def parse_schema(text: str) -> pa.Schema:
    """Return the schema that a text in Spark's DDL describes.

    Raises:
        OptionError: It is none, names a column twice, or has a type that no Iceberg table has.
    """
    reader = _Reader(text, _tokens(text))
    fields = reader.fields(end="", depth=0)
    return pa.schema(fields)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    at: int


def _tokens(text: str) -> list[_Token]:
    found = []
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise _wrong(text, at, "a name or a type")
        kind = match.lastgroup or ""
        found.append(_Token(kind, match.group(kind), match.start(kind)))
        at = match.end()
    return [*found, _Token("end", "", len(text))]


class _Reader:
    """Reads tokens from the left; `next` is the one that is not read yet."""

    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._at = 0

    @property
    def next(self) -> _Token:
        return self._tokens[self._at]

    def fields(self, end: str, depth: int) -> list[pa.Field]:
        fields = [self._field(depth)]
        while self._takes(","):
            fields.append(self._field(depth))
        if self.next.text != end or (end == "" and self.next.kind != "end"):
            raise self._wrong(f"',' or {end!r}" if end else "',' or the end")
        seen: set[str] = set()
        for field in fields:
            # Engines compare names without case, so two such columns could not be told apart.
            if field.name.lower() in seen:
                raise OptionError(f"option 'schema' names {field.name!r} twice", option="schema")
            seen.add(field.name.lower())
        return fields

    def _field(self, depth: int) -> pa.Field:
        token = self._take("word", "quoted", wanted="a name")
        name = token.text[1:-1].replace("``", "`") if token.kind == "quoted" else token.text
        if token.kind == "word" and name[0].isdecimal():
            raise _wrong(self._text, token.at, "a name, in backquotes if it begins with a digit,")
        self._takes(":")
        kind = self._type(depth)
        is_nullable = not self._takes("not")
        if not is_nullable and not self._takes("null"):
            raise self._wrong("NULL after NOT")
        if self._takes("comment"):
            self._take("text", wanted="a text in quotes")
        return pa.field(name, kind, nullable=is_nullable)

    def _type(self, depth: int) -> pa.DataType:
        if depth > _DEPTH:
            raise OptionError(f"option 'schema' nests types more than {_DEPTH} deep", option="schema")
        token = self._take("word", wanted="a type")
        name = token.text.lower()
        if name in ("decimal", "dec", "numeric"):
            return self._decimal()
        if name == "array":
            self._expect("<")
            element = self._type(depth + 1)
            self._expect(">")
            return pa.list_(element)
        if name == "map":
            self._expect("<")
            key = self._type(depth + 1)
            self._expect(",")
            value = self._type(depth + 1)
            self._expect(">")
            return pa.map_(key, value)
        if name == "struct":
            self._expect("<")
            fields = self.fields(end=">", depth=depth + 1)
            self._expect(">")
            return pa.struct(fields)
        if name not in _TYPES:
            raise _wrong(self._text, token.at, f"one of the types {_KNOWN}")
        return _TYPES[name]

    def _decimal(self) -> pa.DataType:
        precision, scale = 10, 0
        if self._takes("("):
            precision = self._number()
            scale = self._number() if self._takes(",") else 0
            self._expect(")")
        if not (1 <= precision <= 38 and scale <= precision):
            raise OptionError(
                f"option 'schema' has decimal({precision},{scale}); the precision is 1 to 38 and the "
                "scale at most that",
                option="schema",
            )
        return pa.decimal128(precision, scale)

    def _number(self) -> int:
        if not (self.next.kind == "word" and re.fullmatch(r"[0-9]{1,3}", self.next.text)):
            raise self._wrong("a number")
        return int(self._take("word", wanted="a number").text)

    def _take(self, *kinds: str, wanted: str) -> _Token:
        token = self.next
        if token.kind not in kinds:
            raise self._wrong(wanted)
        self._at += 1
        return token

    def _takes(self, text: str) -> bool:
        is_next = self.next.kind in ("word", "sign") and self.next.text.lower() == text
        self._at += is_next
        return is_next

    def _expect(self, sign: str) -> None:
        if not self._takes(sign):
            raise self._wrong(repr(sign))

    def _wrong(self, wanted: str) -> OptionError:
        return _wrong(self._text, self.next.at, wanted)


def _wrong(text: str, at: int, wanted: str) -> OptionError:
    found = text[at : at + 20].strip()
    where = f"at {found!r}" if found else "at its end"
    return OptionError(
        f"option 'schema' wants {wanted} {where} (character {at + 1}); it is written like "
        "'order_id bigint, amount decimal(10,2), tags array<string>'",
        option="schema",
    )
