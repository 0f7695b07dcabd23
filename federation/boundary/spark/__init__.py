"""The boundary of tables that Spark Structured Streaming fills.

The query's checkpoint says how far each epoch had read.
"""

from federation.boundary.spark.spark_resolver import EPOCH_ID, QUERY_ID, resolve_spark

__all__ = ["EPOCH_ID", "QUERY_ID", "resolve_spark"]
