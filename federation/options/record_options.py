"""The options that say how the records of a topic are encoded.

A part of the one table of options, which is in `options`. It must not know what
becomes of a record.
"""

from __future__ import annotations

from typing import Final

from federation.options.option import Option
from hotset.decode import ENVELOPES, FORMATS

_CANAL: Final = (
    "a record of Canal has any number of rows, and here a record is one row at most; send a record for each "
    "row, as Debezium and Maxwell do"
)

RECORDS: Final = (
    Option(
        "valueFormat", "string", "json", "How record values are encoded.", FORMATS, may_be_table_property=True
    ),
    Option(
        "keyFormat",
        "string",
        None,
        "How record keys are encoded, if columns are of the key.",
        FORMATS,
        may_be_table_property=True,
    ),
    Option(
        "keyFields",
        "list",
        None,
        "The columns that record keys fill; record values fill the others.",
        may_be_table_property=True,
    ),
    Option(
        "envelope",
        "string",
        "none",
        "What record values tell of: rows, or changes to rows as Debezium or Maxwell write them, each of "
        "which becomes a row.",
        ("none", *ENVELOPES),
        may_be_table_property=True,
        refused={"canal": _CANAL, "canal-json": _CANAL},
    ),
    Option(
        "operationColumn",
        "string",
        None,
        "The column that says what was done to a row, in the word of the record: Debezium's `c`, `r`, `u`, "
        "`d`. Not needed if the table has the column `_cdc` of the Kafka Connect sink's Debezium transform.",
        may_be_table_property=True,
    ),
    Option(
        "cdc.target.pattern",
        "string",
        None,
        "What the sink's Debezium transform is told to make `_cdc.target` of; `{db}.{table}` if not given.",
        may_be_table_property=True,
    ),
)
