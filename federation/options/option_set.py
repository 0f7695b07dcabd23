"""What one option is, and how the texts given for a set of them are checked and read.

Options of tables are such a set, and settings of the gateway another. It must not know which
options there are.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from federation.errors import OptionError
from federation.options.secrets import require_reference


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


class OptionSet:
    """Options that are declared together.

    Names compare without case, because Spark lower-cases them. What is given is text under the names
    that `check` returns; what is not given has its default.
    """

    def __init__(
        self,
        what: str,
        declared: tuple[Option, ...],
        passthrough: Mapping[str, str] | None = None,
        near: tuple[str, ...] = (),
    ) -> None:
        """Take the options.

        Args:
            what: What errors call one of them.
            declared: The options.
            passthrough: Prefixes under which options of others pass through in the spelling of those
                others, each with its help. What may stand there is checked by whoever takes it.
            near: Names under these prefixes that a mistyped name may mean.
        """
        self.declared = declared
        self.passthrough = passthrough or {}
        self._what = what
        self._by_key = {option.name.lower(): option for option in declared}
        self._names = {name.lower(): name for name in (*(option.name for option in declared), *near)}

    def check(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the options under their proper names, if each of them exists and parses.

        Raises:
            OptionError: An option is unknown, malformed, or holds a bare secret.
        """
        checked: dict[str, str] = {}
        for key, value in given.items():
            option = self._by_key.get(key.lower())
            name = self._passed(key) if option is None else option.name
            if name is None:
                raise OptionError(self._unknown(key), option=key)
            require_reference(name, value)
            if option is not None:
                parse_option(option, value)
            checked[name] = value
        return checked

    def value_of(self, options: Mapping[str, str], name: str) -> str | None:
        """Return the text of an option, or its default.

        Raises:
            KeyError: There is no option of that name (a mistake of ours).
        """
        return options.get(name, self._by_key[name.lower()].default)

    def text_of(self, options: Mapping[str, str], name: str) -> str:
        """Return the text of an option that has a default."""
        text = self.value_of(options, name)
        assert text is not None, f"option {name} has a default"
        return text

    def integer_of(self, options: Mapping[str, str], name: str) -> int:
        """Return the number of an option that has a default."""
        return int(self.text_of(options, name))

    def list_of(self, options: Mapping[str, str], name: str) -> tuple[str, ...] | None:
        """Return the parts of a list, or None if neither it nor a default is given."""
        text = self.value_of(options, name)
        return None if text is None else tuple(part.strip() for part in text.split(","))

    def under(self, options: Mapping[str, str], prefix: str) -> dict[str, str]:
        """Return the options that pass through under a prefix, without the prefix."""
        return {
            key.removeprefix(prefix): value
            for key, value in options.items()
            if key.startswith(prefix) and key.lower() not in self._by_key
        }

    def _passed(self, key: str) -> str | None:
        prefixes = (
            each for each in self.passthrough if key.lower().startswith(each) and len(key) > len(each)
        )
        prefix = next(prefixes, None)
        return None if prefix is None else prefix + key[len(prefix) :]

    def _unknown(self, key: str) -> str:
        meant = difflib.get_close_matches(key.lower(), self._names, n=1)
        hint = f"did you mean {self._names[meant[0]]}" if meant else "see OPTIONS.md"
        return f"there is no {self._what} {key!r}; {hint}"


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
