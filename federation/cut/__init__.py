"""The cut: its facts are taken by `take_cut`, in the one right order; `compute_cut` decides and is pure.

No record is read here.
"""

from federation.cut.cut import Cut, ReaderSchema
from federation.cut.cut_html import ShownRange, render_cut_html
from federation.cut.pinning import pin_table
from federation.cut.reader_schema import registry_of
from federation.cut.take import resume_cut, take_cut
from federation.cut.taken_cut import TakenCut

__all__ = [
    "Cut",
    "ReaderSchema",
    "ShownRange",
    "TakenCut",
    "pin_table",
    "registry_of",
    "render_cut_html",
    "resume_cut",
    "take_cut",
]
