"""How few bytes a value of a type can take, which bounds what a count may claim.

An array of a million items needs as many bytes as a million of the smallest do. A
type that holds itself counts as nothing where it does, so sizes are never too large.
"""

from __future__ import annotations

from hotset.decode.avro.avro_schema import AvroType, Record, Scalar, Union, resolve

_ENOUGH = 1 << 31
_LEAST = {"null": 0, "float": 4, "double": 8}


class Sizes:
    """Least sizes of types, each record looked at once."""

    def __init__(self) -> None:
        self._least: dict[int, int] = {}
        self._is_empty: dict[int, bool] = {}

    def least(self, avro: AvroType) -> int:
        """Return how many bytes a value takes at least."""
        found = resolve(avro)
        if isinstance(found, Scalar):
            return found.size if found.kind == "fixed" else _LEAST.get(found.kind, 1)
        if isinstance(found, Union):
            return 1 + min((self.least(branch) for branch in found.branches), default=0)
        if not isinstance(found, Record):
            return 1
        if id(found) not in self._least:
            self._least[id(found)] = 0
            self._least[id(found)] = min(_ENOUGH, sum(self.least(each.type) for each in found.fields))
        return self._least[id(found)]

    def is_empty(self, avro: AvroType) -> bool:
        """Return whether no value takes a byte, so that there is nothing to skip."""
        found = resolve(avro)
        if isinstance(found, Scalar):
            return found.kind == "null" or (found.kind == "fixed" and found.size == 0)
        if not isinstance(found, Record):
            return False
        if id(found) not in self._is_empty:
            self._is_empty[id(found)] = False
            self._is_empty[id(found)] = all(self.is_empty(each.type) for each in found.fields)
        return self._is_empty[id(found)]
