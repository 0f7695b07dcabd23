"""`spark.read.format("kafkaiceberg")`: the data source, its schema, and a guard against a cost of PySpark.

Only here does this package import pyspark.
"""

from federation.spark.source import KafkaIcebergDataSource

__all__ = ["KafkaIcebergDataSource"]
