"""Deletes by key, which Spark reads and never writes, by Iceberg's own Java library inside a Spark session.

Flink and Kafka Connect write such deletes when they upsert. The deleted keys
are those of rows that the table has, because values that pass through Python
would change their types on the way. This file knows no product of ours.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def delete_by_key(
    session: SparkSession,
    *,
    table: str,
    keys: list[str],
    column: str,
    value: Any,
    is_upsert: bool = False,
    spec_id: int | None = None,
) -> None:
    """Delete, in one commit, what has the keys of the rows in which a column has a value.

    Args:
        session: It has the table in catalog `lake`.
        table: Namespace and name.
        keys: Columns that name a row.
        column: Which rows' keys: those where this column
        value: has this value.
        is_upsert: Write the same rows again in the same commit, where they stay.
        spec_id: The partition spec to write under; the current one by default.

    Raises:
        Exception: Java's own.
    """
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - the only way to Java
    found = load(session, table)
    where = jvm.org.apache.iceberg.expressions.Expressions.equal(column, value)
    rows = _list(jvm.org.apache.iceberg.data.IcebergGenerics.read(found).where(where).build())
    if not rows:
        return  # the writer of no rows makes no file, and would commit one all the same
    spec = found.spec() if spec_id is None else found.specs()[spec_id]
    change = found.newRowDelta()
    for partition, group in _by_partition(jvm, found, spec, rows):
        writer = writers(session, found, keys).newEqualityDeleteWriter(
            output(session, found), spec, partition
        )
        change = change.addDeletes(written(writer, group).toDeleteFile())
        if is_upsert:
            writer = writers(session, found, keys).newDataWriter(output(session, found), spec, partition)
            change = change.addRows(written(writer, group).toDataFile())
    change.commit()


def _list(rows: Any) -> list[Any]:
    found = []
    with_next = rows.iterator()
    while with_next.hasNext():
        found.append(with_next.next().copy())  # the reader uses one record again and again
    rows.close()
    return found


def _by_partition(jvm: Any, table: Any, spec: Any, rows: list[Any]) -> list[tuple[Any, list[Any]]]:
    if not spec.isPartitioned():
        return [(None, rows)]
    groups: dict[str, tuple[Any, list[Any]]] = {}
    for row in rows:
        key = jvm.org.apache.iceberg.PartitionKey(spec, table.schema())
        key.partition(jvm.org.apache.iceberg.data.InternalRecordWrapper(table.schema().asStruct()).wrap(row))
        groups.setdefault(key.toString(), (key, []))[1].append(row)
    return list(groups.values())


def load(session: SparkSession, table: str) -> Any:
    """Return a table of catalog `lake`, as Java has it.

    Raises:
        Exception: Java's own, if there is none.
    """
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - the only way to Java
    return jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, f"lake.{table}")  # noqa: SLF001


def writers(session: SparkSession, table: Any, keys: Sequence[str]) -> Any:
    """Return what makes writers of files of a table; deletes by key have these columns.

    Raises:
        Exception: Java's own.
    """
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - the only way to Java
    builder = getattr(jvm.org.apache.iceberg.data, "GenericFileWriterFactory$Builder")(table)
    if not keys:
        return builder.build()
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001
    ids = gateway.new_array(gateway.jvm.int, len(keys))
    for i, key in enumerate(keys):
        ids[i] = table.schema().findField(key).fieldId()
    return builder.equalityFieldIds(ids).equalityDeleteRowSchema(table.schema()).build()


def output(session: SparkSession, table: Any) -> Any:
    """Return a new file of a table, named for the format that its property asks for.

    Raises:
        Exception: Java's own.
    """
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - the only way to Java
    ending = table.properties().getOrDefault("write.format.default", "parquet")
    path = table.locationProvider().newDataLocation(f"{uuid.uuid4()}.{ending}")
    return jvm.org.apache.iceberg.encryption.EncryptedFiles.plainAsEncryptedOutput(
        table.io().newOutputFile(path)
    )


def written(writer: Any, rows: Iterable[Any]) -> Any:
    """Return a writer that has written these and is closed.

    Raises:
        Exception: Java's own.
    """
    for row in rows:
        writer.write(row)
    writer.close()
    return writer
