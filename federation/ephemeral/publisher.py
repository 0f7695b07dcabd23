"""Make an ephemeral snapshot of a cut: metadata that appends its hot rows, as chunks, to its snapshot.

This is the one place that writes them. Nothing is committed, and no catalog is written to: the table's own
metadata stays as it is, and what is made here goes by itself after a stated time.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import pyarrow.parquet as pq

from coldset.ephemeral import (
    EphemeralMetadata,
    ListedManifest,
    SnapshotBase,
    build_manifest,
    build_snapshot,
    describe_file,
    open_base,
)
from federation.cut import TakenCut
from federation.ephemeral.cleaning import keep_clean
from federation.ephemeral.ephemeral_snapshot import EphemeralSnapshot, epochs_of, local_files, storage_of_cut
from federation.ephemeral.scratch import (
    NEEDED,
    Scratch,
    chunk_file,
    fresh_s,
    manifest_file,
    open_scratch,
    snapshot_folder,
)
from federation.ephemeral.summary import summarize
from federation.errors import OptionError
from federation.plan import answer_schema, plan_hot, require_unfiltered
from federation.read import Guard, HotMeter, read_hot_rows
from federation.receipt import build_receipt
from foundation.lru import LruCache
from hotset.decode import BadRecords
from hotset.errors import HotStoreError
from hotset.store import Chunk, HotRows, HotStore, RowCounts, open_store

# How the metadata file of a table is called that is known by its folder alone.
_METADATA: Final = "metadata/v1.metadata.json"
_VERSION_HINT: Final = "metadata/version-hint.text"
_KEPT: Final = 64
# A chunk may go before it is lent.
_TRIES: Final = 3


_bases: Final[LruCache[tuple[str, int | None, int, str], SnapshotBase]] = LruCache(_KEPT)


def publish_cut(
    taken: TakenCut, guard: Guard = lambda: None, *, is_hot_only: bool = False
) -> EphemeralSnapshot:
    """Write a cut as an ephemeral snapshot.

    Args:
        taken: The cut.
        is_hot_only: Whether the snapshot has nothing but the hot rows.
        guard: Called often while records are read; what it raises ends the reading.

    Raises:
        OptionError: The cut has rows that no Iceberg table can have.
        UnsupportedTableError: The table cannot be built on.
        HotStoreError: There is no place, or no room, for the hot rows.
        HotsetError, HotBudgetError, ColdsetError: A half could not be read.
        OSError: The scratch space cannot be written.
    """
    began_s = time.monotonic()
    _require_rows_of_a_table(taken)
    require_unfiltered(taken, "a filter of the engine that reads the snapshot")
    definition = taken.definition
    storage = storage_of_cut(taken)
    store, meter = _open_store(taken), HotMeter()
    scratch = open_scratch(definition.scratch or str(store.space.root / "ephemeral"), storage)
    base = _base_of(taken, storage)
    if is_hot_only:
        base = base.without_files()
    keep_ms = definition.keep_ephemeral_ms
    # What is handed out again has its whole time left.
    until_ms = int(time.time() * 1000) + keep_ms + keep_ms // 2
    snapshot_id = secrets.randbits(62)
    folder = snapshot_folder(snapshot_id, until_ms)
    try:
        chunks = _lend_hot(taken, store, scratch, folder, until_ms, meter, guard)
        receipt = build_receipt(taken, meter, stages_ms={"hot": (time.monotonic() - began_s) * 1000})
        manifests = [
            _manifest_of(base, chunk, _place(chunk, taken, scratch, keep_ms), scratch, keep_ms)
            for chunk in chunks
        ]
        location = f"{scratch.uri}/{folder}"
        built = build_snapshot(
            base,
            manifests,
            snapshot_id=snapshot_id,
            timestamp_ms=taken.as_of_ms,
            manifest_list_path=f"{location}/metadata/snap-{snapshot_id}.avro",
            location=location,
            summary=summarize(taken, receipt),
        )
        metadata_location = _write(scratch, folder, built)
    finally:
        # If it failed, too: what is over may have filled the disk.
        keep_clean(scratch, keep_ms / 1000)
    return EphemeralSnapshot(
        table=taken.cut.table,
        cut=taken.cut.token(),
        snapshot_id=snapshot_id,
        location=location,
        metadata_location=metadata_location,
        metadata=built.told,
        base=taken.pinned.state,
        epochs=epochs_of(taken),
        files=local_files(metadata_location, *(chunk.path.as_posix() for chunk in chunks)),
        expires_ms=until_ms,
        receipt=receipt,
    )


def _require_rows_of_a_table(taken: TakenCut) -> None:
    if taken.definition.record_format.bad_records is BadRecords.NULL:
        raise OptionError(
            f"table {taken.cut.table!r} has badRecords=null, and an Iceberg table has no place for rows that "
            "say why they are none; choose badRecords=skip or dead_letter",
            option="badRecords",
        )


def _open_store(taken: TakenCut) -> HotStore:
    store = open_store(taken.definition.chunk_store)
    if store is None:
        raise HotStoreError("there is no folder for hot rows; name one in option 'hotStorePath'")
    return store


def _read_hot(taken: TakenCut, meter: HotMeter, guard: Guard) -> HotRows:
    # All columns are planned, so that one that no record fills is an error here, and not nulls there.
    splits = plan_hot(taken, answer_schema(taken), spread=False)
    if not splits:
        return HotRows()
    [split] = splits
    found = read_hot_rows(replace(split, store=taken.definition.chunk_store), meter, guard, as_chunks=True)
    if any(rows.rows.num_rows for rows in found.tail) or not all(part.is_whole for part in found.parts):
        raise HotStoreError(
            f"the hot store has no room for the {found.counts.rows} hot rows of table {taken.cut.table!r}; "
            "raise hotStoreBytes, or freeze more often",
            table=taken.cut.table,
        )
    return found


def _lend_hot(
    taken: TakenCut,
    store: HotStore,
    scratch: Scratch,
    folder: str,
    until_ms: int,
    meter: HotMeter,
    guard: Guard,
) -> list[Chunk]:
    """Return the chunks that have the hot rows, which now stay until a time."""
    for _ in range(_TRIES):
        hot = _read_hot(taken, meter, guard)
        chunks = [part.chunk for part in hot.parts if part.chunk.info.counts.rows]
        names = [chunk.path.stem for chunk in chunks]
        # What is needed is said before anything is counted on.
        scratch.write(f"{folder}/{NEEDED}", "\n".join(names).encode())
        store.lease(names, max(0.0, until_ms / 1000 - time.time()))
        if all(chunk.path.exists() for chunk in chunks):
            return chunks
        meter.counts = RowCounts()
    raise HotStoreError(
        f"hot rows of table {taken.cut.table!r} were removed while they were read; ask again, or raise "
        "hotStoreBytes",
        table=taken.cut.table,
    )


def _base_of(taken: TakenCut, storage: Mapping[str, str]) -> SnapshotBase:
    pinned = taken.pinned
    key = (pinned.uuid, pinned.snapshot_id, pinned.schema_id, pinned.state)
    base = _bases.get(key)
    if base is None:
        base = open_base(pinned, storage)
        _bases.put(key, base)
    return base


_manifests: Final[LruCache[str, ListedManifest]] = LruCache(4096)


def _place(chunk: Chunk, taken: TakenCut, scratch: Scratch, keep_ms: int) -> str:
    """Return where readers find a chunk: in the hot store, or in a copy in a scratch space of its own."""
    if taken.definition.scratch is None:
        return f"file://{chunk.path}"
    name = chunk_file(chunk.path.stem, keep_ms)
    if scratch.has_fresh(name, fresh_s(keep_ms / 1000)):
        return f"{scratch.uri}/{name}"
    return scratch.write(name, chunk.path.read_bytes())


def _manifest_of(
    base: SnapshotBase, chunk: Chunk, path: str, scratch: Scratch, keep_ms: int
) -> ListedManifest:
    """Return the manifest of a chunk that is at a path, written unless it is there already."""
    told = [path, base.version, base.spec_id, base.pinned.schema.model_dump_json(), base.pinned.uuid]
    properties = sorted(base.pinned.properties.items())
    digest = hashlib.sha256(json.dumps([*told, properties]).encode()).hexdigest()[:16]
    name = manifest_file(chunk.path.stem, digest, keep_ms)
    known = _manifests.get(name)
    if known is not None and scratch.has_fresh(name, fresh_s(keep_ms / 1000)):
        return known
    found = describe_file(
        path,
        chunk.path.stat().st_size,
        pq.read_metadata(chunk.path),
        base.pinned.schema,
        base.pinned.table.metadata,
        chunk.info.with_nan,
    )
    content = build_manifest(base, [found])
    made = ListedManifest(scratch.write(name, content), len(content), 1, found.rows)
    _manifests.put(name, made)
    return made


def _write(scratch: Scratch, folder: str, built: EphemeralMetadata) -> str:
    scratch.write(f"{folder}/metadata/snap-{built.snapshot_id}.avro", built.manifest_list)
    location = scratch.write(f"{folder}/{_METADATA}", json.dumps(built.told).encode())
    scratch.write(f"{folder}/{_VERSION_HINT}", b"1")
    return location
