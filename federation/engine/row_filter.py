"""Filter rows by an SQL expression, where rows are read by tasks and not by a statement.

The expression is checked as a statement is, and runs on the same locked engine. What it says of columns also
narrows which files and offsets are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from coldset.files import quoted
from coldset.prune import Predicate
from federation.engine.arrow_stream import Stream
from federation.engine.lookahead import Lookout
from federation.engine.run import open_cursor, translate
from federation.engine.statement import parse_condition
from federation.errors import OptionError, SqlError

_ROWS = "rows"
_BATCH_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows are wanted.

    Attributes:
        expression: The expression, as the engine takes it.
        columns: The columns it looks at.
        where: What it says of them as far as it is understood; None if nothing.
    """

    expression: str
    columns: tuple[str, ...]
    where: Predicate | None

    def apply(
        self, batches: Iterator[pa.RecordBatch], schema: pa.Schema, wanted: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows for which the expression is true, with some of their columns.

        Args:
            batches: The rows.
            schema: Their columns.
            wanted: The columns to yield, in order.

        Raises:
            SqlError: The expression fails on a row.
        """
        failures: list[Exception] = []

        def pulled() -> Iterator[pa.RecordBatch]:
            try:
                yield from batches
            except Exception as exc:
                failures.append(exc)
                raise

        cursor = open_cursor()
        try:
            cursor.register(_ROWS, Stream(schema, pulled))
            columns = ", ".join(quoted(name) for name in wanted) or "NULL AS nothing"
            sql = f"SELECT {columns} FROM {quoted(_ROWS)} WHERE {self.expression}"
            for batch in cursor.sql(sql).to_arrow_reader(_BATCH_ROWS):
                yield batch.select(list(wanted))
        except (duckdb.Error, pa.ArrowException) as exc:
            raise translate(exc, None, failures) from exc
        finally:
            cursor.close()


def plan_filter(expression: str, schema: pa.Schema) -> RowFilter:
    """Return the filter that an expression means over some columns.

    Args:
        expression: A condition in DuckDB's SQL, on columns by their names.
        schema: The columns.

    Raises:
        OptionError: It is no condition over these columns.
    """
    nullable = pa.schema([found.with_nullable(nullable=True) for found in schema])
    try:
        statement = parse_condition(expression, _ROWS)
        cursor = open_cursor()
        try:
            _, outlooks = Lookout(cursor, {_ROWS: nullable}).look(statement.sql)
        finally:
            cursor.close()
    except (SqlError, duckdb.Error) as exc:
        raise OptionError(
            f"option 'filter' is no condition on the table's columns: {exc}", option="filter"
        ) from exc
    found = outlooks[_ROWS]
    where = statement.sql.partition(" WHERE ")[2]
    return RowFilter(where, found.columns, found.where)
