"""Open one data or delete file, and hand out its columns batch by batch, in the order of its rows.

The order matters: a position delete counts rows. Which columns the table wants,
and what they become, is `projection`. Avro, which Arrow does not
read, is `avro_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyiceberg.exceptions import ResolveError
from pyiceberg.io import FileIO
from pyiceberg.table.name_mapping import NameMapping

from coldset.errors import UnsupportedTableError
from coldset.files.avro_rows import AvroFile, open_avro
from coldset.files.file_columns import FileColumn, file_columns
from coldset.files.file_stamp import require_regular

_BUFFER_BYTES: Final = 8 << 20

# What pyiceberg and Arrow raise for files that are missing, broken or not what the metadata says.
UNREADABLE: Final = (OSError, pa.ArrowException, ValueError, KeyError, NotImplementedError, ResolveError)


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A file that is open, and what it has."""

    columns: tuple[FileColumn, ...]
    fragment: Any

    @property
    def footer(self) -> Any:
        """The metadata of a Parquet file, or None of another one."""
        return getattr(self.fragment, "metadata", None)

    def batches(
        self, field_ids: Sequence[int], groups: Sequence[bool] | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield batches, each with the number of the row of the file that it begins with.

        Args:
            field_ids: Which top-level columns, as far as there are any; they are named by their places.
            groups: Which row groups; all of them by default.

        Raises:
            OSError, pa.ArrowException: The file is broken.
        """
        names = {
            str(place): pc.field(column.name)
            for place, column in enumerate(self.columns)
            if column.field_id in field_ids
        }
        for row, fragment in self._pieces(groups):
            scanner = ds.Scanner.from_fragment(
                fragment, schema=self.fragment.physical_schema, columns=names, use_threads=True
            )
            start = row
            for batch in scanner.to_batches():
                yield start, batch
                start += batch.num_rows

    def _pieces(self, groups: Sequence[bool] | None) -> Iterator[tuple[int, Any]]:
        if groups is None or all(groups):
            yield 0, self.fragment
            return
        row = 0
        for number, is_wanted in enumerate(groups):
            if is_wanted:
                yield row, self.fragment.subset(row_group_ids=[number])
            row += self.footer.row_group(number).num_rows


AnyFile = OpenFile | AvroFile


@contextmanager
def open_file(
    io: FileIO, path: str, file_format: str, mapping: NameMapping | None, size_bytes: int | None = None
) -> Iterator[AnyFile]:
    """Open a file.

    Args:
        io: Reaches it.
        path: Where it is.
        file_format: As the manifest has it.
        mapping: The table's name mapping, for files without ids.
        size_bytes: Its size as the manifest has it, if that counts.

    Raises:
        UnsupportedTableError: The format is not one that can be read.
        OSError, pa.ArrowException, ValueError: The file is missing, broken or another one.
    """
    require_regular(path, size_bytes)
    if file_format == "avro":
        with io.new_input(path).open() as stream:
            yield open_avro(BytesIO(stream.read()), mapping)
        return
    reader = _reader(file_format, path)
    with io.new_input(path).open() as stream:
        fragment = reader.make_fragment(stream)
        yield OpenFile(file_columns(fragment.physical_schema, mapping), fragment)


def _reader(file_format: str, path: str) -> ds.FileFormat:
    if file_format == "parquet":
        # Spark's old times (INT96) reach further than 64 bits of nanoseconds, which would wrap around.
        return ds.ParquetFileFormat(
            pre_buffer=True, buffer_size=_BUFFER_BYTES, coerce_int96_timestamp_unit="us"
        )
    if file_format == "orc":
        return ds.OrcFileFormat()
    raise UnsupportedTableError(
        f"file {path} is of format {file_format}, which is not read here; compact the table into Parquet",
        file=path,
    )
