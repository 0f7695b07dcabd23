"""Where Spark finds `format("kafkaiceberg")`: it imports every package named `pyspark_*`."""

from federation.spark import KafkaIcebergDataSource as DefaultSource

__all__ = ["DefaultSource"]
