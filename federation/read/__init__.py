"""Splits, and how each is read into Arrow batches, anywhere.

Nothing is planned here.
"""

from federation.read.hot_bounds import Bounds, narrow, times_ms
from federation.read.read_counts import NAMED, ColdMeter, HotMeter, Progress, TableProgress
from federation.read.split_reader import Guard, read_split, widen
from federation.read.splits import ColdSplit, HotSplit, Split, select_columns

__all__ = [
    "NAMED",
    "Bounds",
    "ColdMeter",
    "ColdSplit",
    "Guard",
    "HotMeter",
    "HotSplit",
    "Progress",
    "Split",
    "TableProgress",
    "narrow",
    "read_split",
    "select_columns",
    "times_ms",
    "widen",
]
