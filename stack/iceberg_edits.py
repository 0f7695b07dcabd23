"""What no statement does to an Iceberg table, by Iceberg's own Java library inside a Spark session.

Types that Spark has none for, defaults of columns, and deletes of positions that are filed where no engine
would file them. This file knows no product of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from stack.iceberg_java import load, output, writers, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def make_table(
    session: SparkSession, *, table: str, schema: str, properties: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Make a table without partitions.

    Args:
        session: It has catalog `lake`.
        table: Namespace and name.
        schema: As table metadata spells it, in JSON.
        properties: The table's properties.

    Raises:
        Exception: Java's own.
    """
    java: Any = session.sparkContext._jvm  # noqa: SLF001 - the only way to Java
    iceberg = java.org.apache.iceberg
    said = java.java.util.HashMap()
    for key, value in properties.items():
        said.put(key, value)
    plugin = session._jsparkSession.sessionState().catalogManager().catalog("lake")  # noqa: SLF001
    plugin.icebergCatalog().createTable(
        iceberg.catalog.TableIdentifier.parse(table),
        iceberg.SchemaParser.fromJson(schema),
        iceberg.PartitionSpec.unpartitioned(),
        said,
    )


def add_column(session: SparkSession, *, table: str, name: str, kind: str, default: str) -> None:
    """Add a column with a default for rows that are there and for rows to come.

    Raises:
        Exception: Java's own.
    """
    java: Any = session.sparkContext._jvm  # noqa: SLF001 - the only way to Java
    iceberg = java.org.apache.iceberg
    of_kind = iceberg.types.Types.fromPrimitiveString(kind)
    literal = iceberg.expressions.Expressions.lit(default).to(of_kind)
    load(session, table).updateSchema().addColumn(name, of_kind, None, literal).commit()


def append(
    session: SparkSession, *, table: str, rows: Sequence[Sequence[Any]], partition: Sequence[Any] = ()
) -> None:
    """Append rows as one file.

    Args:
        session: It has the table in catalog `lake`.
        table: Namespace and name.
        rows: Numbers of 32 bits, texts, nulls, and pairs of a Java class and what its `parse` or
            `fromString` takes.
        partition: The values of the partition to file the rows under, whatever they are themselves.

    Raises:
        Exception: Java's own.
    """
    java: Any = session.sparkContext._jvm  # noqa: SLF001 - the only way to Java
    found = load(session, table)
    made = java.java.util.ArrayList()
    for row in rows:
        record = java.org.apache.iceberg.data.GenericRecord.create(found.schema())
        for place, value in enumerate(row):
            record.set(place, _parsed(java, value) if isinstance(value, list | tuple) else value)
        made.add(record)
    filed = java.org.apache.iceberg.PartitionData(found.spec().partitionType())
    for place, value in enumerate(partition):
        filed.put(place, value)
    writer = writers(session, found, []).newDataWriter(
        output(session, found), found.spec(), filed if partition else None
    )
    found.newAppend().appendFile(written(writer, made).toDataFile()).commit()


def _parsed(java: Any, value: Sequence[str]) -> Any:
    name, text = value
    of_class: Any = java
    for part in name.split("."):
        of_class = getattr(of_class, part)
    return of_class.fromString(text) if name == "java.util.UUID" else of_class.parse(text)


def delete_positions(
    session: SparkSession, *, table: str, column: str, named: Any, filed: Any, positions: Sequence[int]
) -> None:
    """Delete rows by position in one file, and file that delete under the partition of another.

    Args:
        session: It has the table in catalog `lake`.
        table: Namespace and name.
        column: By which files are found.
        named: The file that has this value there is the one whose rows are named.
        filed: The partition of the file that has this value there is that of the delete.
        positions: Rows of the file, from 0.

    Raises:
        Exception: Java's own.
    """
    java: Any = session.sparkContext._jvm  # noqa: SLF001 - the only way to Java
    iceberg = java.org.apache.iceberg
    found = load(session, table)
    files = {}
    for value in (named, filed):
        where = iceberg.expressions.Expressions.equal(column, value)
        tasks = found.newScan().filter(where).includeColumnStats().planFiles().iterator()
        files[value] = tasks.next().file()
    partition = files[filed].partition().copy()
    writer = writers(session, found, []).newPositionDeleteWriter(
        output(session, found), found.spec(), partition
    )
    deletes = []
    for position in positions:
        delete = iceberg.deletes.PositionDelete.create()
        deletes.append(delete.set(files[named].location(), position))
    found.newRowDelta().addDeletes(written(writer, deletes).toDeleteFile()).commit()
