"""The resident hot store: records that were read once are not read from Kafka again.

Offsets of a log never change their records, so ranges that were read and decoded are kept as Arrow files in
shared memory, where the gateway, the library and Spark's Python workers on this machine map them. A query
takes its cut as ever, and reads from Kafka only what the store lacks of it.

    logs/<cluster, topic, isolation>.<topic id>/<partition>/
        <start>-<end>-<epoch>-<uid>.base        offsets and times of the records
        <start>-<end>-<epoch>-<uid>.raw         their values, and keys and headers if they were read
        <start>-<end>-<epoch>-<uid>.columns.…   columns that were decoded of them

- **Key.** A name tells cluster, topic id, isolation, partition, range and the leader's epoch at reading; a
  column's name tells format, field, type and the code that decoded it. So what does not match is not found.
- **Truth.** Cuts and the plan decide what is read; the store never does. A chunk read under an older leader
  counts only if the cluster confirms that this leader's log reaches its end. What is fetched is stored after
  the topic's id was checked again; what is found is of that id by its name.
- **Faults.** Columns are kept as decoders give them, with faults for each column alone and rows for null
  values. Policies about bad records and tombstones are applied by `RowDecoder` on top, each time.
- **Crashes.** Files are written beside, and renamed when whole; the base comes last. A process may end at
  any instant: locks end with it, and what it was writing is removed by the next who looks.
- **Many.** Who misses a range locks just these offsets (an open file's lock, so threads exclude each other
  too), looks again, and fetches the rest. Waiting ends at the statement's deadline. A lock only saves work.
- **Later.** What is little may be stored a moment after its records were given, by a thread, under the locks
  that it was fetched under.
- **Memory.** Bytes are reserved under one lock before they are written. At the limit, the files that were not
  used for longest go: the bytes of records first, since rows that are decoded need them no more. What a
  statement uses is not evicted for it; if there is no room, its rows pass through.
- **Keeping.** Small neighbours are joined, what lies before the cut's start, other incarnations of the
  topic and what nobody has used for hours are dropped, by a thread that lives while there is something to do.
- **Presence.** Each process that uses a store has a lock on one file of it, so that the last one can tell.

This package must not know tables, cuts or engines.
"""

from hotset.store.dictionaries import alike, join
from hotset.store.fetch import TopicSource
from hotset.store.hot_store import StoreSettings, clear_store, open_store
from hotset.store.read_meter import ReadMeter
from hotset.store.resident_reader import read_resident
from hotset.store.stored_columns import WantedColumns

__all__ = [
    "ReadMeter",
    "StoreSettings",
    "TopicSource",
    "WantedColumns",
    "alike",
    "clear_store",
    "join",
    "open_store",
    "read_resident",
]
