"""A few rounds of every format that can be fuzzed, so that `make test` has seen each.

A million records take minutes; `python -m tests.fuzz` is for that.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as pa
import pytest

from hotset.decode.decoded import Decoded, Fault
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


def test_a_decoder_that_is_another_for_one_record_alone_is_told_of() -> None:
    among, alone = _round([1], []), _round([7], [])
    paths = {"only": lambda p: (alone if len(p) == 1 else among).paths["only"](p)}

    tally = judge(replace(among, paths=paths), [b"1", b"1"], [False] * 2)

    assert [text.splitlines()[0] for text in tally.differences] == ["the paths differ"] * 2


def _round(values: list[int | None], faults: list[int], stricter: dict[str, str] | None = None) -> Round:
    """A round in which `1`, `2` and anything else are the first, second and third of these values."""

    def decode(payloads: pa.BinaryArray) -> Decoded:
        places = [{b"1": 0, b"2": 1}.get(payload, 2) for payload in payloads.to_pylist()]
        rows = pa.RecordBatch.from_arrays(
            [pa.array([values[at] for at in places], pa.int64())], schema=SCHEMA
        )
        return Decoded(rows, tuple(Fault(row, "because") for row, at in enumerate(places) if at in faults))

    return Round(
        about="",
        schema=SCHEMA,
        record=lambda _rng: b"",
        paths={"only": decode},
        reference=lambda payload: [int(payload)] if payload.isdigit() else Refusal("not a number"),
        stricter=stricter or {},
    )
