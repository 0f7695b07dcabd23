"""What a person types into a notebook: plain PySpark, and the table by its name.

It runs as a program of its own, so that nothing of the demo helps it along; catalog options come
from `kafkaiceberg.toml` in the working directory. Each line of the named pipe it is given is the
number of an order, and it must not know why that order is looked for.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

READY = "notebook ready"
ANSWER = "answer "


def main(bootstrap: str, questions: Path) -> None:
    """Answer questions until nobody can ask any more.

    Raises:
        Exception: Spark's own.
    """
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )

    def load() -> DataFrame:
        return (
            spark.read.format("kafkaiceberg").option("kafka.bootstrap.servers", bootstrap).load("lake.orders")
        )

    load().count()  # The first read of a session starts Python workers, which takes seconds.
    sys.stdout.write(f"{READY}\n")
    with questions.open(encoding="utf-8") as lines:
        for line in lines:
            began_s = time.monotonic()
            orders = load()
            wanted = orders.where(orders.order_id == int(line))
            rows = [row.asDict() for row in wanted.select("order_id", "customer", "amount").collect()]
            answer = {"rows": rows, "elapsed_ms": (time.monotonic() - began_s) * 1000}
            sys.stdout.write(f"{ANSWER}{json.dumps(answer)}\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
