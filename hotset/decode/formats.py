"""Which formats there are, and how a topic's records are encoded.

Adding a format is one file beside this one and one line in the table below. The
file decodes nothing itself, and must not know where an option came from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from hotset.decode.bad_records import BadRecords
from hotset.decode.decoded import Decoder
from hotset.decode.json import decode_json
from hotset.errors import UnsupportedFormatError


@dataclass(frozen=True, slots=True)
class RecordFormat:
    """How the records of a topic become rows.

    Attributes:
        value: Format of record values, one of `FORMATS`.
        skips_tombstones: Whether records without a value are dropped.
        bad_records: What becomes of records that are no rows.
    """

    value: str = "json"
    skips_tombstones: bool = False
    bad_records: BadRecords = BadRecords.FAIL


_MAKERS: Final[Mapping[str, Callable[[RecordFormat], Decoder]]] = {"json": lambda _format: decode_json}

FORMATS: Final = tuple(sorted(_MAKERS))


def decoder_for(record_format: RecordFormat) -> Decoder:
    """Return the decoder of a topic's values.

    Raises:
        UnsupportedFormatError: There is no such format.
    """
    try:
        make = _MAKERS[record_format.value]
    except KeyError:
        raise UnsupportedFormatError(
            f"value format {record_format.value!r} is not supported; supported: {', '.join(FORMATS)}",
            format=record_format.value,
        ) from None
    return make(record_format)
