"""A few rounds of every format that can be fuzzed, so that `make test` has seen each.

A million records take minutes; `python -m tests.fuzz` is for that.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from hotset.decode import Decoded, Fault
from tests.fuzz.campaign import run, run_round
from tests.fuzz.frame import Refusal, Round, judge
from tests.fuzz.mutations import MUTATIONS
from tests.fuzz.targets import TARGETS

SCHEMA = pa.schema([("n", pa.int64())])


@pytest.mark.parametrize("name", sorted(TARGETS))
@pytest.mark.parametrize("number", range(8))
def test_hurt_records_are_decoded_as_the_reference_does(name: str, number: int) -> None:
    tally = run_round(name, 1, number)

    assert (tally.crashes, tally.differences) == ([], [])
    assert tally.mutated > 0


def test_rounds_are_done_in_a_process_of_their_own() -> None:
    tally = run("json", seed=1, records=500, tell=lambda _line: None)

    assert (tally.crashes, tally.differences) == ([], [])
    assert tally.mutated >= 500


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_every_mutation_hurts_and_takes_what_is_empty(mutation: object) -> None:
    rng = random.Random(7)

    hurt = {mutation(rng, bytes(range(60))) for _ in range(50)}  # type: ignore[operator]

    assert len(hurt) > 5
    assert isinstance(mutation(rng, b""), bytes)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("values", "faults", "wrong"),
    [
        ([1, 2, None], [2], None),
        ([1, 3, None], [2], "the rows differ"),
        ([1, None, None], [1, 2], "only the decoder refuses"),
        ([1, 2, 3], [], "only the reference refuses"),
        ([None, 2, None], [0, 2], "a good record is refused"),
    ],
)
def test_whoever_decodes_otherwise_is_told_of(
    values: list[int | None], faults: list[int], wrong: str | None
) -> None:
    tally = judge(_round(values, faults), [b"1", b"2", b"x"], [True, False, False])

    assert [text.splitlines()[0] for text in tally.differences] == ([wrong] if wrong else [])


def test_a_rule_excuses_a_stricter_decoder_and_is_counted() -> None:
    made = _round([1, None, None], [1, 2], stricter={"because": "it may"})

    tally = judge(made, [b"1", b"2", b"x"], [False] * 3)

    assert tally.differences == []
    assert tally.excused == {"it may": 1}


def test_a_decoder_that_raises_is_a_crash() -> None:
    tally = judge(_round([1], []), [b"1", b"2"], [False] * 2)

    assert len(tally.crashes) == 1


def _round(values: list[int | None], faults: list[int], stricter: dict[str, str] | None = None) -> Round:
    rows = pa.RecordBatch.from_arrays([pa.array(values, pa.int64())], schema=SCHEMA)
    decoded = Decoded(rows, tuple(Fault(row, "because") for row in faults))
    return Round(
        about="",
        schema=SCHEMA,
        record=lambda _rng: b"",
        paths={"only": lambda _payloads: decoded},
        reference=lambda payload: [int(payload)] if payload.isdigit() else Refusal("not a number"),
        stricter=stricter or {},
    )
