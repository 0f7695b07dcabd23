"""Delete files that pyiceberg reads or refuses, and has no writer for.

The reading of them is the product's; what writes them here is only good enough for that.
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


def delete_by_equality(lake: Lake, patch: pytest.MonkeyPatch) -> None:
    """Commit an equality delete file, as Flink does for upserts; its rows are never looked at."""
    table = lake.load()
    path = f"{table.location()}/data/{unique('deletes')}.parquet"
    deletes = DataFile.from_args(
        content=DataFileContent.EQUALITY_DELETES,
        file_path=path,
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=1,
        file_size_in_bytes=100,
        equality_ids=[table.schema().find_field("seq").field_id],
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
