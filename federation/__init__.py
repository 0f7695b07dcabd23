"""Joins the two halves: definitions, cuts, plans, splits, engines and receipts.

The only package that knows both Kafka's half and Iceberg's. It knows nothing of HTTP.

    options/    options from three sources, and the table definition they become
    boundary/   what is committed: one folder per kind of writer
    cut/        the cut: facts taken in the one right order, and the decision
    plan.py     from a cut to splits
    read/       a split becomes Arrow batches
    engine/     SQL by an embedded DuckDB: statement, lookahead, run
    spark/      `spark.read.format("kafkaiceberg")`
    table.py    the library's face: a table, its cuts and scans
    receipt.py  what every answer carries
    doctor/     what is wrong with a table, or soon will be
    warm.py     keeps the hot rows of a table resident
    errors.py   every way joining can fail
"""
