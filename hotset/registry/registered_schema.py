"""A schema as a registry has it, and how it is put together from a registry's answers.

A schema may refer to others, which are asked for as well, each once. The file is
given a way to ask, and must not know how that is done, formats, or records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args
from urllib.parse import quote

from hotset.errors import RegistryProtocolError

Kind = Literal["AVRO", "PROTOBUF", "JSON"]
# Path and what it is of, for messages, in; what the registry says out.
Ask = Callable[[str, str], Mapping[str, Any]]

_MAX_REFERENCES: Final = 1000
_MAX_DEPTH: Final = 64


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as it was registered, with all it refers to.

    Attributes:
        kind: In which language it is written.
        text: The schema.
        references: The name that the text uses, and the schema it means.
        version, schema_id: Its place in the subject that it was asked of, and the number by which
            records name it; None if the registry did not say. They are no part of what it is.
    """

    kind: Kind
    text: str = field(repr=False)
    references: tuple[tuple[str, RegisteredSchema], ...] = field(default=(), repr=False)
    version: int | None = field(default=None, compare=False)
    schema_id: int | None = field(default=None, compare=False)


def version_path(subject: str, version: int | Literal["latest"]) -> str:
    """Return where a registry has a version of a subject."""
    # What was deleted is still told to those who hold on to it.
    deleted = "" if version == "latest" else "?deleted=true"
    return f"/subjects/{quote(subject, safe='')}/versions/{version}{deleted}"


def read_schema(ask: Ask, path: str, what: str) -> RegisteredSchema:
    """Return a schema with all it refers to.

    Args:
        ask: Asks the registry.
        path: Where it has the schema.
        what: Says which it is, for messages.

    Raises:
        RegistryProtocolError: An answer is not understood, or refers to too much.
        HotsetError: As `ask`.
    """
    return _Reading(ask).read(path, what)


class _Reading:
    """Reads one schema; what it refers to twice is asked for once."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._found: dict[str, RegisteredSchema] = {}

    def read(self, path: str, what: str, depth: int = 0) -> RegisteredSchema:
        if path in self._found:
            return self._found[path]
        if depth > _MAX_DEPTH or len(self._found) > _MAX_REFERENCES:
            raise RegistryProtocolError(
                f"{what} refers to more than {_MAX_REFERENCES} schemas, or deeper than {_MAX_DEPTH}; "
                "register it with fewer references"
            )
        answer = self._ask(path, what)
        kind, text = answer.get("schemaType", "AVRO"), answer.get("schema")
        if kind not in get_args(Kind) or not isinstance(text, str):
            raise RegistryProtocolError(f"{what} is of kind {kind!r:.40}, or has no text; it cannot be read")
        references = tuple(self._reference(each, what, depth) for each in answer.get("references") or ())
        place = (_number(answer.get(name)) for name in ("version", "id"))
        self._found[path] = RegisteredSchema(kind, text, references, *place)
        return self._found[path]

    def _reference(self, told: Any, what: str, depth: int) -> tuple[str, RegisteredSchema]:
        if not isinstance(told, Mapping):
            told = {}
        name, subject, version = told.get("name"), told.get("subject"), told.get("version")
        if not isinstance(name, str) or not isinstance(subject, str) or not isinstance(version, int):
            raise RegistryProtocolError(f"{what} has a reference without name, subject or version")
        path = version_path(subject, version)
        return name, self.read(path, f"version {version} of subject {subject!r}, needed by {what}", depth + 1)


def _number(told: Any) -> int | None:
    return told if type(told) is int else None
