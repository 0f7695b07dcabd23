"""The bugs that are planted, with the way of asking that shows each, and the invariant it breaks.

One list, so that it can be read and added to. A bug that only shows in a second scan, a second statement or a
token needs the way that has one; all others are looked for with a plain scan.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.oracle.model import bugs_of_planning as planning
from tests.oracle.model import bugs_of_reading as reading
from tests.oracle.model.explorer import Plant
from tests.oracle.model.judge import Invariant
from tests.oracle.model.ways import Way, again, by_token, once, twice


class Bug(NamedTuple):
    """A bug, what it breaks in its shortest history, how it is asked for, and how many actions that takes."""

    plant: Plant
    breaks: Invariant
    actions: int
    way: Way = once

    @property
    def name(self) -> str:
        return self.plant.__name__


BUGS: Final = (
    Bug(planning.boundary_too_high, Invariant.CONVERGENCE, 2),
    Bug(planning.boundary_too_low, Invariant.DUPLICATE, 2),
    Bug(planning.name_is_identity, Invariant.INVENTION, 3),
    Bug(planning.ends_before_pin, Invariant.PREFIX, 2),
    Bug(planning.ends_of_the_last_question, Invariant.FRESHNESS, 1, again),
    Bug(planning.boundary_of_another_load, Invariant.LOSS, 2),
    Bug(planning.boundary_of_the_group, Invariant.LOSS, 2),
    Bug(planning.walk_by_sequence_number, Invariant.LOSS, 3),
    Bug(planning.walk_the_list_backwards, Invariant.LOSS, 3),
    Bug(planning.no_mark_is_no_commit, Invariant.DUPLICATE, 4),
    Bug(planning.marks_are_inherited, Invariant.DUPLICATE, 4),
    Bug(planning.tag_before_walk, Invariant.LOSS, 5),
    Bug(planning.gap_is_skipped, Invariant.LOSS, 2),
    Bug(planning.gap_on_first_sight, Invariant.LOSS, 3),
    Bug(planning.plan_again_without_pinning, Invariant.LOSS, 3),
    Bug(planning.new_partition_from_its_end, Invariant.LOSS, 4),
    Bug(planning.only_known_partitions, Invariant.FRESHNESS, 2),
    Bug(planning.partition_without_boundary, Invariant.CLOSED, 0),
    Bug(planning.ends_at_the_high_watermark, Invariant.CONVERGENCE, 1),
    Bug(planning.partitions_of_yesterday, Invariant.FRESHNESS, 2),
    Bug(reading.cold_half_at_the_head, Invariant.INVENTION, 1),
    Bug(reading.token_at_the_head, Invariant.INVENTION, 1, by_token),
    Bug(reading.cut_for_each_scan, Invariant.ONE_CUT, 1, twice),
    Bug(reading.missing_file_is_empty, Invariant.LOSS, 4),
    Bug(reading.read_uncommitted, Invariant.INVENTION, 2),
    Bug(reading.reset_to_earliest, Invariant.LOSS, 2),
    Bug(reading.reset_to_latest, Invariant.LOSS, 2),
    Bug(reading.stop_at_an_empty_poll, Invariant.LOSS, 3),
    Bug(reading.wait_for_the_last_offset, Invariant.CONVERGENCE, 2),
    Bug(reading.stop_at_an_invisible_offset, Invariant.LOSS, 4),
    Bug(reading.part_of_a_range_is_enough, Invariant.LOSS, 2),
    Bug(reading.identity_before_reading_only, Invariant.LOSS, 2),
    Bug(reading.offsets_are_stored, Invariant.READ_ONLY, 1),
)
