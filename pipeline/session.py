"""A Spark session for jobs started from the command line.

Whoever has a session passes that one; this is for `kafkaiceberg freeze` and for
notebooks without one. It must not know what the session is used for.
"""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession


def open_session(name: str, master: str = "local[2]") -> SparkSession:
    """Return a Spark session whose Python workers are this Python.

    Args:
        name: Application name.
        master: Where to run, in Spark's spelling.

    Raises:
        Exception: Spark's own, if Java is missing or the master does not answer.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.appName(name)
        .master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
    )
    if master.startswith("local"):
        builder = builder.config("spark.driver.host", "127.0.0.1").config(
            "spark.driver.bindAddress", "127.0.0.1"
        )
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session
