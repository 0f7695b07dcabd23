"""A delete file that nobody could apply, which no writer would write.

What can be applied is written by Iceberg's own runtime, and stands in `tests/coldset/shapes.py`.
"""

from __future__ import annotations

import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestContent, ManifestWriterV2
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.typedef import Record

from tests.builders import Lake, unique


class DeleteManifest(ManifestWriterV2):
    """A manifest of delete files, which pyiceberg reads and has no writer for."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def delete_by_unknown_key(lake: Lake, patch: pytest.MonkeyPatch) -> None:
    """Commit an equality delete file for a column that no schema has; its rows are never looked at."""
    table = lake.load()
    path = f"{table.location()}/data/{unique('deletes')}.parquet"
    deletes = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=1,
        file_size_in_bytes=100,
        equality_ids=[table.metadata.last_column_id + 1],
    )
    deletes.spec_id = 0
    patch.setattr(
        _FastAppendFiles,
        "new_manifest_writer",
        lambda self, spec: DeleteManifest(
            spec, table.schema(), self.new_manifest_output(), self._snapshot_id, "null"
        ),
    )
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        append.append_data_file(deletes)
