"""Add written files to a table in one fenced commit.

pyiceberg retries an append onto whatever the table has become, which lets two
committers of the same records both succeed. Here every attempt first shows the
freshly loaded table to the caller's fence and then commits against exactly
that state, so a commit lands on what was checked or not at all. What the fence
means is the caller's business.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.update.snapshot import ManageSnapshots

from coldset.errors import ColdsetError, CommitConflictError, CommitStateUnknownError
from coldset.table import PinnedTable, load_table, summary_value

_ATTEMPTS: Final = 8
COMMIT_ID: Final = "kafkaiceberg.commit-id"
# Longer than any `history.expire.max-ref-age-ms` of the table, which would take the tag away.
_FOREVER_MS: Final = 2**63 - 1


def commit_append(
    catalog: Catalog,
    identifier: str,
    files: Sequence[DataFile],
    summary: Mapping[str, str],
    *,
    commit_id: str,
    pin_tag: str,
    fence: Callable[[PinnedTable], None],
    discard: Callable[[], None] = lambda: None,
) -> int:
    """Append files to the table's main branch in one snapshot.

    Args:
        catalog: Where the table is registered.
        identifier: The table.
        files: From `write_files`; may be empty, if only the summary matters.
        summary: Properties for the new snapshot's summary.
        commit_id: Unique name of this commit, by which its outcome is found
            again if the catalog's answer is lost.
        pin_tag: Tag to move to the new snapshot, in the same commit, so that
            expiry keeps the snapshot and its summary, whatever the table says of
            the age of tags.
        fence: Called with the table as loaded before each attempt; raises if
            this commit must not land on it.
        discard: Called before an error is raised, if no attempt was ever sent: then
            the files are certainly in no snapshot. Else they are left as orphans.

    Returns:
        The id of the new snapshot.

    Raises:
        CommitConflictError: Other commits kept winning; nothing has landed.
        CommitStateUnknownError: The catalog did not say; the files are kept.
        TableNotFoundError, CatalogUnavailableError: The table could not be loaded.
        Exception: Whatever the fence raises; nothing has landed.
    """
    was_sent = False
    for attempt in range(_ATTEMPTS):
        table = load_table(catalog, identifier)
        landed = _find(table, commit_id) if was_sent else None
        if landed is not None:
            return landed  # an attempt that was reported as failed had landed
        try:
            fence(PinnedTable(identifier, table, table.current_snapshot(), table.schema()))
            staged = _stage(table, files, {**summary, COMMIT_ID: commit_id}, pin_tag)
        except Exception:
            if not was_sent:
                discard()
            raise
        try:
            was_sent = True
            staged.commit_transaction()
            return _snapshot_id(staged)
        except CommitFailedException:
            time.sleep(random.uniform(0, 0.05 * 2**attempt))  # noqa: S311 - spreads attempts, no secret
        except Exception as exc:  # noqa: BLE001 - any of them may hide a commit that landed
            return _outcome(catalog, identifier, commit_id, exc)
    landed = _find(load_table(catalog, identifier), commit_id)
    if landed is not None:
        return landed
    raise CommitConflictError(
        f"table {identifier!r} was committed to by others at each of {_ATTEMPTS} attempts; nothing of this "
        "commit is in the table; try again",
        table=identifier,
    )


def _stage(table: Table, files: Sequence[DataFile], summary: dict[str, str], pin_tag: str) -> Transaction:
    metadata = table.metadata
    # An attempt is one attempt: the table's own retry setting would rebase past the fence.
    once = {**metadata.properties, "commit.retry.num-retries": "0"}
    table.metadata = metadata.model_copy(update={"properties": once})
    transaction = table.transaction()
    append = transaction.update_snapshot(snapshot_properties=summary).fast_append()
    # A commit may land and yet be reported as failed; pyiceberg would then delete its manifests.
    append._clean_all_uncommitted = _keep_manifests  # type: ignore[method-assign]  # noqa: SLF001
    with append:
        for file in files:
            append.append_data_file(file)
    with ManageSnapshots(transaction) as refs:
        refs.create_tag(_snapshot_id(transaction), pin_tag, max_ref_age_ms=_FOREVER_MS)
    return transaction


def _keep_manifests() -> None:
    """Leaves them as orphans, which any clean-up of the table removes."""


def _snapshot_id(transaction: Transaction) -> int:
    added = transaction.table_metadata.current_snapshot()
    assert added is not None
    return added.snapshot_id


def _outcome(catalog: Catalog, identifier: str, commit_id: str, cause: Exception) -> int:
    try:
        landed = _find(load_table(catalog, identifier), commit_id)
    except ColdsetError:
        landed = None
    if landed is not None:
        return landed
    raise CommitStateUnknownError(
        f"the catalog did not confirm commit {commit_id} to table {identifier!r} "
        f"({type(cause).__name__}: {cause}); its files are kept; if it landed, a snapshot's summary has "
        f"{COMMIT_ID}={commit_id}",
        table=identifier,
        commit_id=commit_id,
    ) from cause


def _find(table: Table, commit_id: str) -> int | None:
    for snapshot in table.metadata.snapshots:
        if summary_value(snapshot, COMMIT_ID) == commit_id:
            return snapshot.snapshot_id
    return None
