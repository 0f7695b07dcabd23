"""The hotset: what a Kafka topic holds beyond the last commit, as Arrow.

It knows nothing of Iceberg, of cuts or of engines.

    kafka/      the client, offsets, and bounds of a log
    drain/      exact offset ranges become raw records
    native/     the same in C, where it was built
    registry/   schemas by id
    decode/     raw records become rows: JSON, Avro, Protobuf, text and bytes
    store/      ranges that were read stay resident
    errors.py   every way reading can fail
"""
