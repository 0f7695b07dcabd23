"""What one option is, and whether a text is a value of it.

Options of tables and of the gateway are made of it. It must not know which
options there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from federation.errors import OptionError


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        name: As written by users.
        type: What a value is, for readers of OPTIONS.md.
        default: As text, or None if there is none.
        help: One sentence, with the unit if there is one.
        choices: The only values, if they are few.
        may_be_table_property: Whether `kafkaiceberg.<name>` counts as a table property.
        refused: Values that one could well expect, and what to do as there are none.
    """

    name: str
    type: Literal["string", "integer", "boolean", "list"]
    default: str | None
    help: str
    choices: tuple[str, ...] = ()
    may_be_table_property: bool = False
    refused: Mapping[str, str] = field(default_factory=dict)


def parse_option(option: Option, value: str) -> None:
    """Raise unless the text is a value of the option.

    Raises:
        OptionError: It is not.
    """
    checks: Mapping[str, Callable[[str], bool]] = {
        "string": bool,
        "integer": lambda text: text.isdecimal() and int(text) > 0,
        "boolean": lambda text: text in ("true", "false"),
        "list": lambda text: all(part.strip() for part in text.split(",")),
    }
    wants = {
        "string": "a text that is not empty",
        "integer": "a whole number above zero",
        "boolean": "true or false",
        "list": "names separated by commas",
    }
    if not checks[option.type](value):
        raise OptionError(
            f"option {option.name!r} wants {wants[option.type]}, not {value!r}", option=option.name
        )
    if option.choices and value not in option.choices:
        allowed, why = ", ".join(option.choices), option.refused.get(value.lower())
        raise OptionError(
            f"option {option.name!r} is one of {allowed}, not {value!r}{f': {why}' if why else ''}",
            option=option.name,
        )
