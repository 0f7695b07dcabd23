"""What a schema compiles to: steps that read a record, and the builders they fill.

Two interpreters run the same program, one in C and one in Python, so everything
that decides what a record means is in here as a number. It must not know schemas;
`avro_plan` writes programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import pyarrow as pa

from hotset.decode.builders import Builder

# Beyond these a record is refused: they bound what a hostile one can cost.
MAX_NESTING: Final = 200
MAX_EMPTY_ITEMS: Final = 1 << 16
MAX_DECIMAL_BYTES: Final = 64


class Op(IntEnum):
    """What a step does. Numbers are the C interpreter's too (`hotset/native/avro/program.h`)."""

    NOTHING = 0
    SKIP_VARINT = 1
    SKIP_FIXED = 2  # a: bytes
    SKIP_BYTES = 3
    SKIP_BLOCKS = 4  # children: of each item; a: least bytes of an item
    SEQUENCE = 5  # children
    UNION = 6  # children: one per branch
    CALL = 7  # a: the step to go on with
    NULL = 8
    BOOLEAN = 9
    INTEGER = 10  # a, b: least and largest; c: times; d: divided by
    NUMBER = 11  # a, b: least and largest
    FLOAT = 12
    DOUBLE = 13
    TEXT = 14
    BYTES = 15
    FIXED = 16  # a: bytes
    DECIMAL = 17  # a: bytes, or -1 if they are counted; b: power of ten to multiply with; c: precision
    ENUM = 18  # a: first constant; b: how many
    UUID_TEXT = 19
    UUID_BYTES = 20
    STRUCT = 21  # children
    LIST = 22  # child: the item; a: its least bytes
    MAP = 23  # children: key, value; a: their least bytes
    CONSTANT = 24  # child: what reads it; a: the constant


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do with the next bytes of a record.

    Attributes:
        op: What.
        builder: Where a value goes; -1 if it goes nowhere.
        a: As `op` says.
        b: As `op` says.
        c: As `op` says.
        d: As `op` says.
        children: Steps that belong to it; they come later in the program.
        path: The field, for people.
    """

    op: Op
    builder: int = -1
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0
    children: tuple[int, ...] = ()
    path: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """Steps, builders and constants; step 0 reads a record.

    Attributes:
        steps: What is done.
        builders: What is filled.
        columns: The builders of the columns wanted, in order.
        constants: Bytes that steps refer to: names of symbols and encoded defaults.
        schema: The columns wanted.
        unmapped: Paths of fields that no column wanted is for.
    """

    steps: tuple[Step, ...]
    builders: tuple[Builder, ...]
    columns: tuple[int, ...]
    constants: tuple[bytes, ...]
    schema: pa.Schema
    unmapped: frozenset[str] = frozenset()


class Code(IntEnum):
    """Why a record is no row. Numbers are the C interpreter's too."""

    TRUNCATED = 1
    TRAILING = 2
    VARINT = 3
    LENGTH = 4
    BRANCH = 5
    SYMBOL = 6
    UTF8 = 7
    RANGE = 8
    ROUNDED = 9
    REQUIRED = 10
    BOOLEAN = 11
    SIZE = 12
    UUID = 13
    BLOCK = 14
    COUNT = 15
    EMPTY_ITEMS = 16
    NESTING = 17
    KEY_TWICE = 18
    TOO_MUCH = -1


def reason_of(program: Program, code: int, place: int, detail: int) -> str:
    """Say why a record is not a row, as the end of a sentence.

    Args:
        program: What was run.
        code: What was wrong.
        place: The step that found it.
        detail: A number that belongs to the code.
    """
    step = program.steps[place]
    what = "its value" if not step.path else f"{'field' if step.builder < 0 else 'column'} {step.path!r}"
    wanted = program.builders[step.builder].type if step.builder >= 0 else "nothing"
    return what + " " + _TOLD[Code(code)].format(detail=detail, wanted=wanted, limit=_LIMITS.get(Code(code)))


_LIMITS: Final = {Code.EMPTY_ITEMS: MAX_EMPTY_ITEMS, Code.NESTING: MAX_NESTING}

_TOLD: Final = {
    Code.TRUNCATED: "ends too early",
    Code.TRAILING: "goes on for {detail} bytes after its last field",
    Code.VARINT: "holds a number longer than any number is",
    Code.LENGTH: "says that its length is {detail}",
    Code.BRANCH: "holds branch {detail} of a union that has no such branch",
    Code.SYMBOL: "holds symbol {detail} of an enum that has no such symbol",
    Code.UTF8: "holds text that is not UTF-8",
    Code.RANGE: "wants {wanted}, and holds a number outside its range",
    Code.ROUNDED: "wants {wanted}, and holds a number that would have to be rounded",
    Code.REQUIRED: "is required, and is absent or null",
    Code.BOOLEAN: "holds byte {detail}, which is neither true nor false",
    Code.SIZE: "wants {wanted}, and holds {detail} bytes",
    Code.UUID: "wants {wanted}, and holds text that is no UUID",
    Code.BLOCK: "has a block whose items are not as long as it says",
    Code.COUNT: "says that it has {detail} items, and has fewer bytes",
    Code.EMPTY_ITEMS: "has more than {limit} items without a byte in them",
    Code.NESTING: "is nested more than {limit} levels deep",
    Code.KEY_TWICE: "holds a key twice",
    Code.TOO_MUCH: "does not fit into one batch, which ends at 2 GiB; read fewer records at once",
}
