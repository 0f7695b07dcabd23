"""Every kind of fault once, by a fixed seed; `make oracle` goes on with other seeds for as long as wanted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle.faults.arena import Arena
from tests.oracle.faults.campaign import render, run
from tests.oracle.faults.catalogue import ALL
from tests.oracle.world import TALLY

pytestmark = [pytest.mark.kafka, pytest.mark.oracle, pytest.mark.long]

SEED = 20
# Those that need services of their own are left to `make oracle`.
QUICK = [kind._replace(rounds=1) for kind in ALL if not kind.needs]


def test_no_answer_is_wrong_under_any_fault(tmp_path: Path) -> None:
    with Arena(tmp_path, has_spark=False) as arena:
        tally = run(arena, QUICK, seed=SEED, minutes=0, cycles=1)

    assert tally.wrong == [], render(tally)
    assert tally.broken == []
    for row in tally.rows.values():
        assert row.injections > 0
        assert row.answers > 0
        TALLY.update({verdict.value: count for verdict, count in row.verdicts.items()})
