"""From a pinned snapshot and a predicate to the files to read, and how an engine may scan them.

No row is read here.
"""

from coldset.plan.file_plan import ColdTask, MatchingFiles, plan_cold, plan_files, plan_matching
from coldset.plan.narrowed_scan import narrow_scan
from coldset.plan.parquet_scan import ParquetScan, ScanGroup, ScanKey, plan_parquet_scan
from coldset.plan.partition_columns import constants_of

__all__ = [
    "ColdTask",
    "MatchingFiles",
    "ParquetScan",
    "ScanGroup",
    "ScanKey",
    "constants_of",
    "narrow_scan",
    "plan_cold",
    "plan_files",
    "plan_matching",
    "plan_parquet_scan",
]
