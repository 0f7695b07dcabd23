"""The resident hot store: records that were read once are not read from Kafka again.

Offsets of a log never change their records, so rows of ranges that were read are kept as Parquet files,
chunks, in shared memory or a folder, which any engine on this machine can read. A query takes its cut as
ever, and reads from Kafka only what neither the chunks nor the tail of its own process have.

    logs/<topic, isolation, how records become rows>.<topic id>/
        <time>-<random>.parquet     rows; the footer says which ranges they are, and under which leaders
        <time>-<random>.others      tombstones and bad records, if there are any
        <time>-<random>.letters     bad records whole, if they are kept as dead letters
    leases/<until>-<random>         chunks that somebody may read until then
    making/, reserved, users        files being written, bytes reserved, processes that use the store

- **Truth.** Cuts decide what is read; the store never does. A chunk read under an older leader counts only if
  the cluster confirms that this leader's log reaches its end. Rows are stored after the topic's id was
  checked again; what is found is of that id by its folder.
- **Rows.** Records are judged whole, by all columns of the table, when they are decoded. What a policy does
  with bad records and tombstones is part of the folder's name.
- **Crashes.** Files are written beside, and renamed when whole. A process may end at any instant: locks end
  with it, and what it was writing is removed by the next who looks.
- **Many.** Threads of a process read a log one at a time, each for all who wait. Processes may read the same
  records twice; chunks that hold the same rows are found and dropped.
- **Space.** Bytes are reserved under one lock before they are written. At the limit, the chunks that were not
  read for longest go; if there is no room, rows stay with their statement.
- **Keeping.** Small neighbours are joined; what lies before the cut's start, other incarnations of the topic
  and what nobody has read for hours are dropped, by a thread that lives while there is something to do.
  Nothing under a lease is removed.

This package must not know tables, cuts or engines.
"""

from hotset.store.background_tasks import CHORES
from hotset.store.chunk import Chunk
from hotset.store.coverage import ChunkPart
from hotset.store.hot_rows import (
    FILE_MARKS,
    NAMED,
    OFFSET,
    PARTITION,
    PLACE,
    PLACE_SOURCES,
    RowCounts,
    Rows,
)
from hotset.store.hot_store import HotStore, StoreSettings, clear_store, open_store
from hotset.store.read_meter import ReadMeter
from hotset.store.resident_log import HotRows, fetch_hot_rows
from hotset.store.row_source import RowSource, fetch_rows

__all__ = [
    "CHORES",
    "FILE_MARKS",
    "NAMED",
    "OFFSET",
    "PARTITION",
    "PLACE",
    "PLACE_SOURCES",
    "Chunk",
    "ChunkPart",
    "HotRows",
    "HotStore",
    "ReadMeter",
    "RowCounts",
    "RowSource",
    "Rows",
    "StoreSettings",
    "clear_store",
    "fetch_hot_rows",
    "fetch_rows",
    "open_store",
]
