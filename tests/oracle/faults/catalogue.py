"""All faults there are, under the names of the fault matrix.

`needs` says what a fault takes longer for: a cluster of three brokers, a secured broker, Spark.
"""

from __future__ import annotations

from tests.oracle.faults import (
    access,
    claims,
    commits,
    network,
    records,
    retention,
    tables,
    transactions,
    workers,
)
from tests.oracle.faults.campaign import Kind

ALL = [
    Kind("K1", transactions.k1_shapes, 2),
    Kind("K2", transactions.k2_open),
    Kind("K3", transactions.k3_aborted_while_read),
    Kind("K4", transactions.k4_killed_producer),
    Kind("K5", retention.k5_deleted_before),
    Kind("K6", retention.k6_deleted_while_read, 2),
    Kind("K7", retention.k7_retention_and_commits),
    Kind("K8", retention.k8_topic_deleted),
    Kind("K9", retention.k9_recreated),
    Kind("K10", retention.k10_partitions_added),
    Kind("K11", network.k11_leaders, needs="cluster"),
    Kind("K12", network.k12_unclean_election, needs="cluster"),
    Kind("K14", network.k14_bad_network),
    Kind("K15", records.k15_corrupt_batch),
    Kind("K16", records.k16_codecs_and_sizes),
    Kind("K18", records.k18_compacted),
    Kind("K19", retention.k19_times),
    Kind("I1c", commits.i1c_two_committers),
    Kind("I2c", commits.i2c_zombie),
    Kind("I3c", commits.i3c_catalog),
    Kind("I3r", commits.i3c_rest_catalog),
    Kind("I4c", commits.i4c_killed_committer, 2),
    Kind("I5c", tables.i5c_maintenance, 2),
    Kind("I7c", tables.i7c_files, 2),
    Kind("K20", access.k20_refused, needs="secured broker"),
    Kind("G2", workers.g2_killed_workers, needs="spark"),
    Kind("S2", records.s2_poison),
    Kind("A1", claims.a1_two_topics),
    Kind("A2", claims.a2_made_anew),
    Kind("A3", claims.a3_strange_records),
    Kind("A4", claims.a4_losses),
    Kind("A5", claims.a5_isolation_unstated),
    Kind("A6", claims.a6_upserts),
    Kind("N1", transactions.k4_mixture),
    Kind("N2", commits.n2_freezes_all_the_while),
    Kind("N3", tables.i5c_loop),
]
