"""Faults of access: what a broker refuses, and what a certificate does not prove."""

from __future__ import annotations

import os

from tests.oracle import ways
from tests.oracle.checker import Verdict
from tests.oracle.faults.round import Round

ALLOWED, FORBIDDEN = "ORACLE_PASSWORD", "ORACLE_WRONG_PASSWORD"
PATIENCE = {"planTimeoutMs": "10000", "readTimeoutMs": "10000"}


def k20_refused(round_: Round) -> None:
    """A wrong password, a right that is revoked, an expired certificate, a stranger's, no authority."""
    broker = round_.arena.secured
    os.environ[ALLOWED], os.environ[FORBIDDEN] = broker.password, f"not {broker.password}"
    here = round_.begun(bootstrap=broker.bootstrap)
    broker.allow_read(here.lake.topic)
    round_.some(here)

    def through(door: str = "secured", **changed: str) -> dict[str, str]:
        client = {**broker.client_properties(door), "sasl.password": f"${{env:{ALLOWED}}}", **changed}
        return {f"kafka.{name}": value for name, value in client.items()} | PATIENCE

    ask = {"library": ways.library}
    round_.expect(here.having(**through()), Verdict.CORRECT, ask)
    for refused in round_.rng.sample(["password", "expired", "stranger", "right"], 3):
        round_.inject()
        if refused == "password":
            there = here.having(**through(**{"sasl.password": f"${{env:{FORBIDDEN}}}"}))
        elif refused == "right":
            broker.revoke_read(here.lake.topic)
            there = here.having(**through())
        else:
            there = here.having(**through(refused))
        round_.expect(there, Verdict.DECLARED, ask)
        for score in round_.ask(there, ask):
            round_.require(broker.password not in str(score), f"{refused}: the password is told")
        broker.allow_read(here.lake.topic)
    round_.expect(here.having(**through()), Verdict.CORRECT, ask)
