"""`spark.read.format("kafkaiceberg")`: splits as Spark tasks, batches as Arrow.

A `load()` is one frozen cut, taken where Spark creates the source. Not in
`partitions()`, which Spark may call twice for one statement; and not together
with a user's `.schema()`, with which Spark creates the source again for each
scan. The file offers no filter pushdown: PySpark 4 hands one scan's filters to
another scan of the same relation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from federation.cut import take_cut
from federation.errors import OptionError
from federation.options import OPTIONS, load_config, merge_options, split_name
from federation.plan import answer_schema, plan_cold_splits, plan_hot
from federation.read import Split, read_split, select_columns
from federation.spark.archive_cache import guard_archive_caches
from federation.spark.spark_schema import arrow_schema_of, conform, spark_schema

guard_archive_caches()


class SplitPartition(InputPartition):
    """One split, as Spark ships it."""

    def __init__(self, split: Split) -> None:
        super().__init__(split)
        self.split = split


class KafkaIcebergDataSource(DataSource):
    """A federated table at the cut of the moment `load()` was called.

    Options are those of OPTIONS.md; the table is what `load()` is given. A
    configuration file is used if `KAFKAICEBERG_CONFIG` names one, or if
    `kafkaiceberg.toml` is in the driver's working directory.
    """

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        given = dict(options)
        name = given.pop("path", None)
        if name is None:
            raise OptionError("no table is named; call load('namespace.table')", option="path")
        table, part = split_name(name)
        merged = merge_options(table, given, load_config().options_of(table))
        taken = take_cut(merged)
        self._schema = answer_schema(taken, OPTIONS.list_of(merged, "columns"), part=part)
        # Hot splits first: the freshest rows, and what a LIMIT should see.
        self._splits: tuple[Split, ...] = (
            *plan_hot(taken, self._schema, spread=True, part=part),
            *plan_cold_splits(taken, self._schema.names, part=part),
        )
        self._has_one_cut = "cut" in merged

    @classmethod
    def name(cls) -> str:
        """The name for `format()`."""
        return "kafkaiceberg"

    def schema(self) -> StructType:
        """The table's columns, all nullable, in Spark's types."""
        self._has_one_cut = True
        return spark_schema(self._schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of this cut.

        Raises:
            OptionError: The user gave a schema, so that there would be a cut for each scan.
        """
        if not self._has_one_cut:
            raise OptionError(
                "load() with .schema() would take a cut for each scan; choose columns with option 'columns', "
                "or fix the cut with option 'cut'"
            )
        return KafkaIcebergReader(self._splits, schema)


class KafkaIcebergReader(DataSourceReader):
    """Hands out the splits of one cut and reads them, the same at every call."""

    def __init__(self, splits: tuple[Split, ...], wanted: StructType) -> None:
        self._splits = tuple(select_columns(split, wanted.names) for split in splits)
        self._wanted = wanted

    def partitions(self) -> Sequence[InputPartition]:
        """The splits, each a task of its own."""
        return [SplitPartition(split) for split in self._splits]

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Yield the batches of one split, in exactly Spark's Arrow schema."""
        # Spark makes an empty list of partitions into one partition that is None.
        if isinstance(partition, SplitPartition):
            target = arrow_schema_of(self._wanted)
            for batch in read_split(partition.split):
                yield conform(batch, target)

    def __getstate__(self) -> dict[str, Any]:
        # The reader travels to every task, and a task needs its own split only.
        return {**self.__dict__, "_splits": ()}
