"""The boundary of tables that Spark Structured Streaming fills.

The query's checkpoint says how far each epoch had read.
"""

from federation.boundary.spark.spark_resolver import SPARK_EPOCH_ID, SPARK_QUERY_ID, resolve_spark

__all__ = ["SPARK_EPOCH_ID", "SPARK_QUERY_ID", "resolve_spark"]
