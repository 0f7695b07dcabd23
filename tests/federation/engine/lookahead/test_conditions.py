"""What follows for a whole number of which the nearest double is compared.

Below 2^53 each whole number has a double of its own. What else is understood is in
`test_outlook`.
"""

from __future__ import annotations

import pytest

from coldset.prune.predicate import AllOf, Compared, Predicate
from tests.federation.engine.lookahead.looking import where


@pytest.mark.parametrize(
    ("condition", "predicate"),
    [
        ("id > 7 / 2", Compared("id", ">=", 3)),
        ("id BETWEEN 8 AND 8 + 5 / 2", AllOf((Compared("id", ">=", 8), Compared("id", "<=", 11)))),
        ("NOT small < -7 / 2", Compared("small", ">=", -4)),
        ("id = 4 / 2", AllOf((Compared("id", ">=", 2), Compared("id", "<=", 2)))),
        ("id <= 9007199254740992 / 1", None),
        ("id > 'nan'::DOUBLE", None),
        ("id <> 7 / 2", None),
        ("price > 7 / 2", None),
        ("share > 7 / 2", None),
        ("id::FLOAT > 3", None),
    ],
)
def test_limits_of_a_whole_number_follow_from_those_of_its_double(
    condition: str, predicate: Predicate | None
) -> None:
    assert where(condition) == predicate
