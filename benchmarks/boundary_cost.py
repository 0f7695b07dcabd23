"""What it costs to learn a boundary, against what it costs to load the table at all.

Tables of many snapshots or many data files, each asked for the first time and again. The histories
are made by writing metadata files, since thousands of commits would take longer than the rest; the
data files and manifests are real. It must not measure Kafka: no resolver here has to ask it.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.io import load_file_io
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import MetadataLogEntry, Snapshot, SnapshotLogEntry, Summary

from benchmarks.harness import Report, median, note, open_folder, run
from coldset.table.catalog import open_catalog, pin
from coldset.write.data_writer import write_files
from federation.boundary.property.snapshot_property import OFFSETS_PROPERTY, render_offsets
from federation.boundary.resolve import resolve_boundary
from federation.options.table_definition import TableDefinition, define, merge_options
from foundation.deadline import Deadline
from hotset.kafka.client import connect
from hotset.kafka.offsets import Isolation
from stack.gateway import local_catalog

ROWS = pa.schema([("id", pa.int64()), ("kafka_partition", pa.int32()), ("kafka_offset", pa.int64())])
PER_FILE = 10
BOUNDARY = render_offsets(
    topic="orders",
    topic_id="4Yl2gqSFRCybNaF2uGgQ3w",
    isolation=Isolation.READ_COMMITTED,
    next_offset=dict.fromkeys(range(8), 1_000_000),
    leader_epoch={},
)


@dataclass(frozen=True, slots=True)
class Site:
    """A catalog in a folder of its own."""

    folder: Path
    catalog_properties: dict[str, str]

    @property
    def catalog(self) -> Catalog:
        """The catalog, which has nothing else in it."""
        return open_catalog("bench", self.catalog_properties)

    def create(self, name: str, files: int, **properties: str) -> Table:
        """Create a table with that many data files, in one commit."""
        table: Table = self.catalog.create_table(f"bench.{name}", schema=ROWS, properties=properties)
        with table.transaction() as change:
            append = change.update_snapshot(snapshot_properties={OFFSETS_PROPERTY: BOUNDARY}).fast_append()
            with append:
                for number in range(files):
                    for file in write_files(table.metadata, _rows(number), self.catalog_properties):
                        append.append_data_file(file)
        loaded: Table = self.catalog.load_table(f"bench.{name}")
        return loaded

    def register(self, metadata: TableMetadata, *, is_expired: bool) -> str:
        """Register a copy of a table: another UUID, other metadata files, so nobody has seen it."""
        fresh = uuid.uuid4()
        metadata = metadata.model_copy(update={"table_uuid": fresh})
        if is_expired:
            head = metadata.snapshots[-1]
            told = MetadataLogEntry(metadata_file=self.write(metadata), timestamp_ms=head.timestamp_ms)
            metadata = _with_history(metadata, [head]).model_copy(update={"metadata_log": [told]})
        name = f"bench.copy_{fresh.hex}"
        # Registered by a catalog of its own, which reads the file once and keeps nothing.
        load_catalog("bench", **self.catalog_properties).register_table(name, self.write(metadata))
        return name

    def write(self, metadata: TableMetadata) -> str:
        """Write a metadata file and return where."""
        # The number tells pyiceberg the version; a name with a UUID is never written again.
        location = f"{metadata.location}/metadata/00001-{uuid.uuid4()}.metadata.json"
        output = load_file_io(self.catalog_properties, location).new_output(location)
        ToOutputFile.table_metadata(metadata, output)
        return location


def main(report: Report, small: bool) -> None:  # noqa: FBT001
    """Measure histories, then file counts."""
    sizes, runs, runs_of_files = ((10, 50), 2, 1) if small else ((10, 100, 1_000, 5_000), 5, 3)
    with open_folder("boundary-cost") as folder:
        site = Site(folder, local_catalog(folder))
        site.catalog.create_namespace("bench")
        base = site.create("history", 1)
        for count in sizes:
            note(f"boundary_cost: {count} snapshots")
            for where, back in (("head", 0), ("root", count - 1), ("expired", count - 1)):
                case = f"boundary_cost_{count}_snapshots_{where}"
                _measure(report, site, case, lengthen(base, count, back), runs, is_expired=where == "expired")
        for count in sizes:
            note(f"boundary_cost: {count} files")
            columns = {
                "boundary": "columns",
                "kafkaColumns": "partition=kafka_partition,offset=kafka_offset",
            }
            for bounds in ("full", "none"):
                table = site.create(f"files_{count}_{bounds}", count, **{_METRICS: bounds})
                name = f"boundary_cost_{count}_files_{'with' if bounds == 'full' else 'without'}_bounds"
                _measure(report, site, name, table.metadata, runs_of_files, options=columns)


_METRICS = "write.metadata.metrics.default"


def lengthen(table: Table, count: int, back: int) -> TableMetadata:
    """Give a table that many snapshots, as if commits of others had changed no file; the last ones first.

    Args:
        table: A table with one snapshot.
        count: Snapshots it gets.
        back: How many parents back the one with the property is.
    """
    [first] = table.metadata.snapshots
    assert first.summary is not None
    properties = {k: v for k, v in first.summary.additional_properties.items() if k != OFFSETS_PROPERTY}
    plain = Summary(first.summary.operation, **properties)
    chain = [_nth(first, number, plain) for number in range(count)]
    marked = count - 1 - back
    chain[marked] = chain[marked].model_copy(update={"summary": first.summary})
    return _with_history(table.metadata, chain)


def _rows(number: int) -> pa.Table:
    first = number * PER_FILE
    rows = [{"id": i, "kafka_partition": 0, "kafka_offset": i} for i in range(first, first + PER_FILE)]
    return pa.Table.from_pylist(rows, schema=ROWS)


def _nth(first: Snapshot, number: int, plain: Summary) -> Snapshot:
    # One second apart, as commits of a busy table are.
    return first.model_copy(
        update={
            "snapshot_id": first.snapshot_id // 2 + number,
            "parent_snapshot_id": first.snapshot_id // 2 + number - 1 if number else None,
            "sequence_number": number + 1,
            "timestamp_ms": first.timestamp_ms + 1000 * number,
            "summary": plain,
        }
    )


def _with_history(metadata: TableMetadata, chain: list[Snapshot]) -> TableMetadata:
    head = chain[-1]
    log = [SnapshotLogEntry(snapshot_id=s.snapshot_id, timestamp_ms=s.timestamp_ms) for s in chain]
    main_ref = metadata.refs["main"].model_copy(update={"snapshot_id": head.snapshot_id})
    update = {
        "snapshots": chain,
        "snapshot_log": log,
        "refs": {"main": main_ref},
        "current_snapshot_id": head.snapshot_id,
        "last_sequence_number": head.sequence_number,
        "last_updated_ms": head.timestamp_ms,
    }
    return metadata.model_copy(update=update)


def _measure(
    report: Report,
    site: Site,
    case: str,
    metadata: TableMetadata,
    runs: int,
    *,
    is_expired: bool = False,
    options: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Time loading and resolving a table that nobody has asked for, and both again."""
    taken: defaultdict[str, list[float]] = defaultdict(list)
    for _ in range(runs):
        name = site.register(metadata, is_expired=is_expired)
        definition = _definition(name, site, options)
        client = connect(definition.kafka_properties)
        for again in ("", "_again"):
            began_s = time.perf_counter()
            pinned = pin(site.catalog, name)
            pinned_s, busy_s = time.perf_counter(), time.process_time()
            resolve_boundary(pinned, definition, client, Deadline.after_ms(60_000))
            taken[f"resolve_cpu{again}"].append((time.process_time() - busy_s) * 1000)
            taken[f"resolve{again}"].append((time.perf_counter() - pinned_s) * 1000)
            taken[f"load{again}"].append((pinned_s - began_s) * 1000)
    found = {key: median(values) for key, values in taken.items()}
    report.case(
        case,
        found["resolve"] / found["load"],
        "ratio",
        runs=runs,
        **{f"{key}_ms": round(value, 2) for key, value in found.items()},
    )


def _definition(name: str, site: Site, options: Mapping[str, str]) -> TableDefinition:
    read = {
        "kafka.bootstrap.servers": "127.0.0.1:9",  # nobody is there: no resolver here may ask
        "subscribe": "orders",
        "catalog.name": "bench",
        **{f"catalog.{key}": value for key, value in site.catalog_properties.items()},
        **options,
    }
    return define(merge_options(name, read, {}), {})


if __name__ == "__main__":
    sys.exit(run(main))
