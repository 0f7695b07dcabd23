"""Servers that a run lends to its processes: each is started once, told to all, and gone with the run.

The one that is lent here is the object store, which starts soonest.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stack import StackError
from stack.objects import ObjectStore
from tests import lent_services
from tests.builders import wait_until
from tests.lent_services import Lender, borrow
from tests.rules.sources import ROOT

pytestmark = pytest.mark.service

OWNER = """
    import sys, time
    from pathlib import Path
    from tests.lent_services import Lender

    lender = Lender(lambda name: Path(sys.argv[1]) / name)
    print(*lender.open_to_others(), flush=True)
    time.sleep(600)
"""


@pytest.fixture
def lender(tmp_path: Path) -> Iterator[Lender]:
    made = Lender(lambda name: tmp_path / name)
    yield made
    made.close()


def test_whoever_asks_at_once_is_told_of_one_server(lender: Lender) -> None:
    address = lender.open_to_others()
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda _: borrow(address, "store"), range(4)))

    assert [type(each) for each in told] == [ObjectStore] * 4
    assert {vars(each)["port"] for each in told} == {vars(lender.server("store"))["port"]}
    assert all(each.answers() for each in told if isinstance(each, ObjectStore))
    with pytest.raises(AttributeError, match="process"):
        told[0].stop()


def test_a_server_that_does_not_start_is_an_error_where_it_was_asked_for(
    lender: Lender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Lender) -> ObjectStore:
        raise StackError("there is no Java")

    monkeypatch.setitem(lent_services._START, "store", refuse)

    with pytest.raises(StackError, match="no Java"):
        borrow(lender.open_to_others(), "store")


def test_a_run_that_is_killed_leaves_no_server(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(OWNER), str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        host, port, word = owner.stdout.readline().split()
        server = borrow((host, int(port), word), "store")
        assert isinstance(server, ObjectStore)
        assert server.answers()

        owner.send_signal(signal.SIGKILL)

    wait_until(lambda: not server.answers(), "the server to end")
