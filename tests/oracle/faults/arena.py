"""What rounds share because it takes seconds to start: brokers, clusters and one Spark session.

Each is started when a fault first needs it, and all end with the arena. Topics and tables are never shared.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from stack.catalog_proxy import CatalogProxy
from stack.cluster import KafkaCluster
from stack.kafka import KafkaBroker, Listener
from stack.ports import free_port
from stack.proxy import TcpProxy
from stack.rest_catalog import RestCatalog
from stack.secured import SecuredBroker
from stack.spark_writer import JARS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# So that retention and compaction, which the broker looks after by the minute, are done within a round.
EAGER = {
    "log.retention.check.interval.ms": "200",
    "log.cleaner.backoff.ms": "200",
    "log.initial.task.delay.ms": "500",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


class Arena:
    """Services for rounds.

    `spark_share` is how often a round also asks through Spark, `by_hand_share` how often the union by hand.
    """

    def __init__(
        self, directory: Path, *, has_spark: bool, spark_share: float = 0.1, by_hand_share: float = 0.25
    ) -> None:
        self.directory = directory
        self.has_spark = has_spark
        self.spark_share = spark_share
        self.by_hand_share = by_hand_share
        self.proxy: TcpProxy
        self._open = ExitStack()

    @cached_property
    def broker(self) -> KafkaBroker:
        """One broker, with a second door behind the proxy."""
        door = free_port()
        self.proxy = self._open.enter_context(TcpProxy.start("127.0.0.1", door))
        listener = Listener("PROXIED", door, advertised_port=self.proxy.port)
        directory = self.directory / "broker"
        started = KafkaBroker.start(directory, listeners=[listener], properties=EAGER)
        return self._open.enter_context(started)

    @cached_property
    def cluster(self) -> KafkaCluster:
        return self._open.enter_context(KafkaCluster.start(self.directory / "cluster"))

    @cached_property
    def secured(self) -> SecuredBroker:
        return self._open.enter_context(SecuredBroker.start(self.directory / "secured"))

    @cached_property
    def catalog_proxy(self) -> CatalogProxy:
        """The door to a real REST catalog, where its answers can be made to fail."""
        catalog = self._open.enter_context(RestCatalog.start(self.directory / "catalog"))
        return self._open.enter_context(CatalogProxy.start(catalog.uri))

    @cached_property
    def spark(self) -> SparkSession:
        from pyspark.sql import SparkSession

        os.environ["PYTHONPATH"] = os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        jars = ",".join(sorted(str(jar) for jar in JARS.glob("*.jar")))
        # Four tries, so that a killed worker's task is tried again as on any cluster.
        builder = SparkSession.builder.appName("oracle").master("local[2,4]").config("spark.jars", jars)
        for key in ("spark.driver.host", "spark.driver.bindAddress"):
            builder = builder.config(key, "127.0.0.1")
        for key in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
            builder = builder.config(key, "false")
        session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        self._open.callback(session.stop)
        return session

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
