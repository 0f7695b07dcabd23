"""Both interpreters against fastavro, on schemas and records that nobody thought of.

The fuzzer does the same by the million; here every choice is hypothesis's own, so that what
differs is made small before it is shown.
"""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.avro_target import make_round
from tests.fuzz.frame import judge
from tests.fuzz.mutations import mutate


@settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(rng=st.randoms(note_method_calls=False), hurt=st.lists(st.booleans(), min_size=1, max_size=4))
def test_both_interpreters_and_fastavro_give_the_same_rows_or_all_refuse(
    rng: random.Random, hurt: list[bool]
) -> None:
    made = make_round(rng)
    records = [made.record(rng) for _ in hurt]
    payloads = [
        mutate(rng, record) if is_hurt else record for record, is_hurt in zip(records, hurt, strict=True)
    ]

    tally = judge(
        made, payloads, [payload == record for payload, record in zip(payloads, records, strict=True)]
    )

    assert (tally.crashes, tally.differences) == ([], [])
