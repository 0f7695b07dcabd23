"""The coldset: one pinned snapshot of an Iceberg table, as Arrow.

It knows nothing of Kafka, offsets or engines.

    table/      catalogs, the pinned snapshot, its history and manifests
    prune/      predicates, and which files cannot match them
    files/      one data file: footer, columns, projection
    deletes/    which rows delete files hide
    plan/       from a snapshot and a predicate to files, and scans of an engine's own
    read/       planned files become Arrow batches
    write/      data files, and a fenced commit of them
    errors.py   every way reading or committing can fail
"""
