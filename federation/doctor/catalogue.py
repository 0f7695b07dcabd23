"""Every finding there is: what it means, how it is looked for, and what to do about it.

DOCTOR.md is rendered from this table, one section per code, so that a finding
can never point to a section that is not there. It performs no input or output.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding.

    Attributes:
        code: Stable and unique.
        severities: What it can be, in words, worst first.
        meaning: One sentence; it follows the numbers wherever a finding is shown.
        method: How it is looked for, and what the look cannot see.
        advice: What to do.
    """

    code: str
    severities: str
    meaning: str
    method: str
    advice: str

    @property
    def page(self) -> str:
        """Where the section is."""
        return f"DOCTOR.md#{self.code.lower()}"


KINDS: Final = (
    Kind(
        "DUPLICATE_FILES",
        "error",
        "The rows of these files count once for each reference, in every answer of every engine.",
        "The live entries of all manifests of the snapshot are compared by path. Data files are not opened.",
        "Kafka Connect sinks up to 1.11 are known to commit files twice after they read their control topic "
        "again. Update the sink. Then remove the second reference: rewrite the affected partitions from a "
        "query that reads each file once, or roll back to a snapshot before the second reference and let the "
        "sink, or `kafkaiceberg freeze`, bring the later records again.",
    ),
    Kind(
        "DUPLICATE_RECORDS",
        "error",
        "The table holds these records more than once, and an answer is only as exact as the table below it.",
        "Partition and offset of all rows are read, from columns of a known layout or those of option "
        "`kafkaColumns`, and kept as ranges. Rows that were deleted do not count. If the table "
        "has a topic column, only rows of this topic count. Repetitions are counted: a record that is there "
        "three times counts two.",
        "If `DUPLICATE_FILES` is found as well, begin there. Else a writer was started twice, or from an "
        "older position, and has read the records again: stop the second one, and rewrite the partitions "
        "with one row per partition and offset.",
    ),
    Kind(
        "ROWS_WITHOUT_POSITION",
        "warning",
        "Rows without a Kafka position can neither be proven to be there once nor to be there at all.",
        "Rows whose partition or offset column is null are counted during the same read.",
        "Find out who wrote them: rows inserted by hand, a second writer, or rows from before the columns "
        "were added. They do no harm to the boundary unless it is taken from these columns.",
    ),
    Kind(
        "MORE_ROWS_THAN_OFFSETS",
        "warning",
        "A record makes one row, so some are there twice, or this topic is not the only one that fills the "
        "table.",
        "Where no Kafka columns tell, the snapshot's own count of rows is compared with the number of "
        "offsets below the boundary. Fewer rows prove nothing.",
        "If only this topic fills the table, its writer was started twice or lost its place. Let it write "
        "Kafka's partition and offset into columns, and name them in `kafkaColumns`: then the repeated "
        "records can be found one by one.",
    ),
    Kind(
        "HOLES",
        "error, warning, info",
        "Records that lie below the boundary and are not in the table are in no answer.",
        "What the table does not hold, from its first offset to its boundary, is looked up in Kafka. Visible "
        "records with a value are an error. Offsets of control records, aborted transactions, tombstones and "
        "compaction are an information. What Kafka has already removed cannot be told any more: an "
        "information, if no hole is longer than those that Kafka explains, else a warning. If a snapshot of "
        "the history deleted rows, missing visible records are a warning only, since they may have been "
        "deleted on purpose. Kafka is read in a window below the boundary and in the first holes before it, "
        "at most `--look-back` offsets per partition.",
        "An error: the writer lost the records, skipped them, or has not committed them yet. Look into its "
        "log and its dead letters. If it still holds them back, they come with a later commit, and until "
        "then no boundary is right. If they are lost, copy them from the topic into the table while Kafka "
        "still has them.",
    ),
    Kind(
        "BOUNDARY_REGRESSION",
        "error, warning",
        "A writer began again behind what was already committed, so records may be in the table twice.",
        "The marks in the summaries along the ancestry are compared: our property per partition (an error), "
        "`kafka.connect.offsets.*` per control partition, Spark's epochs per query, Flink's checkpoints per "
        "job and operator, and the offset in `redpanda.commit-metadata`. Marks of expired snapshots cannot "
        "be compared.",
        "Look at `DUPLICATE_RECORDS` and `DUPLICATE_FILES` for what came of it. For our property: find the "
        "writer that sets it without the fence of ARCHITECTURE.md. For Kafka Connect: update the sink. For "
        "Spark or Flink: a job was restarted from an old checkpoint.",
    ),
    Kind(
        "BOUNDARY_AT_RISK",
        "error, warning, info",
        "Once the snapshot with the writer's mark is expired, nothing says any more what is committed.",
        "If the head does not carry a mark itself, the nearest ancestor that does is held against the "
        "table's settings: `history.expire.max-snapshot-age-ms`, `history.expire.min-snapshots-to-keep`, "
        "those of its branches, and tags. Other writers' marks are found by parents, so all snapshots "
        "on the way to one must stay. A warning says that expiry may remove it now, an information "
        "says when. A warning also says "
        "that only an older metadata file tells an expired mark. An error says that it "
        "has been lost already. Expiry with other settings than the "
        "table's is not foreseen.",
        "Let the writer commit: the next commit carries a mark. Until then do not expire snapshots. A "
        "snapshot with our property is kept by the tag `kafkaiceberg-boundary`, which a freeze sets; if it "
        "was dropped, create it again (`ALTER TABLE … CREATE TAG … AS OF VERSION …`). If the mark is lost: "
        "name the Kafka columns, or declare the boundary with `committedOffsets`.",
    ),
    Kind(
        "RETENTION_NEAR",
        "warning",
        "If no commit comes before, Kafka removes records that the table does not have yet.",
        "For each partition with hot records. By time: the first hot record's timestamp plus `retention.ms`. "
        "By size: the log holds as many offsets as it does now, or as `retention.bytes` has room for at the "
        "mean size of the newest records, whichever is more; at the rate of the last ten minutes, the "
        "time until the boundary is beyond that. The earlier of the two counts. Both are on the careful "
        "side: Kafka removes whole segments, and only once all of a segment may go, and compression makes "
        "room. Records with timestamps of the future or of long ago mislead the estimate by time. It is a "
        "warning within `--warn-within` (one hour by default).",
        "Commit now: find out why the writer is late, or run `kafkaiceberg freeze`. Raise `retention.ms` or "
        "`retention.bytes` of the topic to give it time.",
    ),
    Kind(
        "RETENTION_PASSED",
        "error",
        "These records are in neither half, and queries fail with `OFFSET_GAP`.",
        "The log's start is compared with the boundary.",
        "If a backup or another copy of the topic has them, load them from there. Else accept the gap with "
        "`failOnDataLoss=false`: answers then name it. A freeze with that option records the gap as lost. "
        "Then raise the topic's retention.",
    ),
    Kind(
        "TOPIC_MISSING",
        "error",
        "There is no hot half to read, so queries fail.",
        "The cluster is asked for the topic.",
        "Correct the option `subscribe` or `kafka.bootstrap.servers`. If the topic is gone for good, read "
        "the table with `read=cold`.",
    ),
    Kind(
        "TOPIC_RECREATED",
        "error",
        "Offsets of this topic mean other records than those in the table, so no answer can be given.",
        "The topic's identity (KIP-516) that the writer recorded is compared with the cluster's. Only our "
        "property and declared boundaries record one. For other writers the times of rows, or of the "
        "commit, are held against Kafka's records, as for every answer; see also `BOUNDARY_AHEAD`.",
        "Make a new table for the new topic. Read this one with `read=cold`.",
    ),
    Kind(
        "BOUNDARY_AHEAD",
        "error",
        "The table claims records that the log does not have, or does not show, so no answer can be given.",
        "The boundary is compared with the readable end of the log.",
        "The topic was recreated or truncated, or the option `subscribe` names another topic than the "
        "table's. Or the table is written `read_uncommitted`, and the end is that of `read_committed`: set "
        "`kafka.isolation.level` to what the writer uses.",
    ),
    Kind(
        "PARTITIONS_ADDED",
        "warning, info",
        "Whatever is in these partitions comes from Kafka alone until the writer has found them.",
        "Partitions of the topic that the boundary does not name. It is a warning if the first record "
        "there is older than the snapshot: the writer has committed since, and without it.",
        "Nothing, if the writer finds new partitions by itself, as most do within minutes. Else restart it. "
        "Flink needs `partition.discovery.interval.ms`; a writer that begins new partitions at `latest` "
        "loses their first records.",
    ),
    Kind(
        "PARTITIONS_FEWER",
        "error",
        "Kafka never takes partitions away, so this is another topic than the table's.",
        "Partitions that the boundary, or the table's rows, name and the topic has not.",
        "See TOPIC_RECREATED; or correct the option `subscribe`.",
    ),
    Kind(
        "WRITER_STARTED_LATE",
        "error, warning, info",
        "The beginning of the topic is not in the table, and not in the hot half either.",
        "The smallest offset per partition is above 0. An error if Kafka still shows records with a value "
        "there, or a warning if a snapshot of the history deleted rows; an information if what was there is "
        "gone from the log, so that nobody can tell any more.",
        "The writer began at `latest`, or after retention had removed the beginning. If the beginning is "
        "wanted and Kafka still has it, load it once into the table. If rows are deleted by age on purpose, "
        "nothing.",
    ),
    Kind(
        "WRITER_FILTERS",
        "warning",
        "The hot half shows records of the kind that the cold half leaves out.",
        "Visible records with a value are missing in ten or more separate places of what was read, or the "
        "boundary has passed visible records of a partition without a single row. A lost commit is one "
        "place.",
        "The writer has a condition, or skips records that it cannot read. Repeat the condition in a view "
        "over the federated table, so that both halves obey it, or write everything and filter when reading.",
    ),
    Kind(
        "ISOLATION_DIFFERS",
        "error",
        "The same query gives other records on the two sides of the boundary.",
        "The isolation that the writer recorded, if it did, is compared with `kafka.isolation.level`. "
        "Whatever it recorded, records of aborted transactions that Kafka still shows to `read_uncommitted` "
        "are looked up in the table: they must be in it exactly if the hot half shows them. What was read "
        "of Kafka is limited as for `HOLES`.",
        "Kafka Connect and Spark read uncommitted unless told otherwise. Set "
        "`consumer.override.isolation.level=read_committed` (Connect) or "
        "`kafka.isolation.level=read_committed` (Spark), and remove the aborted records from the table; or "
        "set option `kafka.isolation.level=read_uncommitted`, if aborted records may be in answers.",
    ),
    Kind(
        "WRITER",
        "info, warning",
        "This is who says what the table holds, and how sure that is.",
        "The resolver that answered, what it went by and what else was looked at, and the names and "
        "versions that writers left in the summaries, and what was taken for granted. It is a warning if "
        "the boundary is only `estimated`.",
        "Nothing, if it is the writer you expect. To choose another resolver set option `boundary`. What is "
        "assumed, and what settles it, is in BOUNDARIES.md.",
    ),
    Kind(
        "BOUNDARY_UNKNOWN",
        "error",
        "Nothing tells which records the table holds, so no answer can be given.",
        "All resolvers that may apply are asked; their own words are given.",
        "Do what the message says. BOUNDARIES.md tells for each writer what its resolver needs.",
    ),
    Kind(
        "HELD_BACK",
        "info, warning",
        "Records behind an open transaction are in no answer before it ends, as for every committed reader.",
        "The high watermark is asked for before the last stable offset. It is a warning if the first hidden "
        "record is older than 15 minutes, Kafka's default limit for a transaction.",
        "If it lasts, a producer hangs or was lost. `kafka-transactions.sh find-hanging` names it, and "
        "`abort` ends its transaction.",
    ),
    Kind(
        "COLD_BEHIND",
        "info",
        "This much an answer takes from Kafka.",
        "Readable end less boundary, summed over the partitions, and the age of the oldest hot record.",
        "Nothing. If it grows, commit more often: hot records are slower to read than cold ones.",
    ),
    Kind(
        "MERGE_NEEDED",
        "error, warning",
        "A union of such a table with its topic has several rows of a key.",
        "Identifier fields of the schema, property `write.upsert.enabled`, and the summaries along the "
        "ancestry: commits of the table's writer that take rows out. If no writer has left a mark, it is "
        "what at least half of the commits with rows do, or the program that made most of them. Rewrites "
        "are none, and neither are deletions and changes by others. `merge=append` makes it a warning.",
        "Read the table alone with `read=cold`. If rows are only ever added, set `merge=append`, also as "
        "table property `kafkaiceberg.merge`.",
    ),
    Kind(
        "FIELDS_UNMAPPED",
        "warning",
        "Values of these fields are in no answer, and are lost for good once the records are committed.",
        "The newest 10,000 hot offsets of each partition are decoded as for a query. With nothing hot "
        "nothing is known.",
        "Add a column with the name of the field, or leave it: the finding is no more than that.",
    ),
    Kind(
        "TABLE_NOT_SUPPORTED",
        "error",
        "Queries of this snapshot fail.",
        "The snapshot's files are planned as for a query.",
        "Do what the message says.",
    ),
)

_BY_CODE: Final = {kind.code: kind for kind in KINDS}


def kind_of(code: str) -> Kind:
    """Return the kind of finding that a code stands for.

    Raises:
        KeyError: There is none (a mistake of ours).
    """
    return _BY_CODE[code]
