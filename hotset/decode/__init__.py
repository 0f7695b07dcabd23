"""From raw records to rows: one file per format, one face for all.

A decoder (`decoded`) takes payloads and the Arrow schema of the columns that
are wanted, and flags what does not fit; `rows` turns that into rows of a table.
Nothing here must know where the schema came from.
"""

from hotset.decode.bad_records import LETTERS, MARKS, BadRecord, BadRecords
from hotset.decode.decoded import Decoded, Fault
from hotset.decode.envelope import ENVELOPES, Envelope
from hotset.decode.formats import FORMATS, RecordFormat, require_columns
from hotset.decode.json import EpochUnit
from hotset.decode.position import FIELDS, Source, can_fill, check_source, is_time
from hotset.decode.rows import DecodedRows, RowDecoder

__all__ = [
    "ENVELOPES",
    "FIELDS",
    "FORMATS",
    "LETTERS",
    "MARKS",
    "BadRecord",
    "BadRecords",
    "Decoded",
    "DecodedRows",
    "Envelope",
    "EpochUnit",
    "Fault",
    "RecordFormat",
    "RowDecoder",
    "Source",
    "can_fill",
    "check_source",
    "is_time",
    "require_columns",
]
