"""Splits, and how each is read into Arrow batches, anywhere.

Nothing is planned here.
"""

from federation.read.hot_bounds import Bounds, narrow
from federation.read.hot_reader import Guard, letters_of, read_hot_rows
from federation.read.read_counts import ColdMeter, HotMeter, Progress, TableProgress
from federation.read.split_reader import read_split, widen
from federation.read.splits import ColdSplit, HotSplit, Split, select_columns

__all__ = [
    "Bounds",
    "ColdMeter",
    "ColdSplit",
    "Guard",
    "HotMeter",
    "HotSplit",
    "Progress",
    "Split",
    "TableProgress",
    "letters_of",
    "narrow",
    "read_hot_rows",
    "read_split",
    "select_columns",
    "widen",
]
