"""Faults between us and the brokers: slow, cut, silent or gone; leaders that die, sleep or lose records."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from threading import Thread

from foundation.errors import KafkaIcebergError
from stack.proxy import TcpProxy
from stack.unclean import UNCLEAN, lose_tail
from tests.oracle import ways
from tests.oracle.checker import Verdict
from tests.oracle.faults.round import Round
from tests.oracle.steps import STEPS, before
from tests.oracle.world import World

# What a question may take under a bad network, and how much longer it may hang in all.
SHORT = {"planTimeoutMs": "3000", "readTimeoutMs": "5000", "noProgressTimeoutMs": "2000"}
PATIENCE_S = 25.0

BAD: dict[str, Callable[[TcpProxy], None]] = {
    "10 ms late": lambda proxy: proxy.delay(10),
    "100 ms late": lambda proxy: proxy.delay(100),
    "1 s late": lambda proxy: proxy.delay(1000),
    "reset": lambda proxy: proxy.reset(),
    "black hole": lambda proxy: proxy.black_hole(),
    "half open": lambda proxy: proxy.half_open(),
    "1 byte a second": lambda proxy: proxy.drip(1),
    "cut in an answer": lambda proxy: proxy.cut_after(100),
}


def k14_bad_network(round_: Round) -> None:
    """Latency, resets, black holes, half-open connections, one byte a second, cuts; also in mid-answer."""
    here = round_.begun()
    round_.some(here)
    proxy = round_.arena.proxy
    there = here.having(**{"kafka.bootstrap.servers": proxy.address}, **SHORT)
    for name in round_.rng.sample(list(BAD), 3):
        try:
            with round_.patching() as patch:
                if round_.rng.random() < 0.5:
                    round_.inject(lambda it=name: BAD[it](proxy))
                else:
                    step = round_.rng.choice(STEPS)
                    before(patch, step, lambda it=name: round_.inject(lambda: BAD[it](proxy)))
                began_s = time.monotonic()
                round_.ask(there, {f"library, {name}": ways.library})
                took_s = time.monotonic() - began_s
            round_.require(took_s < PATIENCE_S, f"{name}: hung for {took_s:.0f} s")
        finally:
            proxy.pass_through()
    round_.heals(there)


def k11_leaders(round_: Round) -> None:
    """A leader killed, or asleep for seconds, or all brokers restarted one by one, while records arrive."""
    cluster = round_.arena.cluster
    here = _on_cluster(round_, {"min.insync.replicas": "2"})
    leader = cluster.leader(here.lake.topic)
    how = round_.rng.choice(["kill", "sleep 1 s", "sleep 5 s", "rolling restart"])

    def happen() -> None:
        if how == "rolling restart":
            cluster.rolling_restart()
        elif how == "kill":
            cluster.kill(leader)
            time.sleep(3)
            cluster.restart(leader)
        else:
            cluster.freeze(leader)
            time.sleep(float(how.split()[1]))
            cluster.thaw(leader)

    with _sending(round_, here):
        round_.meanwhile(here, happen)
    cluster.wait_for_replicas()
    round_.heals(here)
    with contextlib.suppress(KafkaIcebergError):
        round_.freeze(here)
    round_.heals(here)


def k12_unclean_election(round_: Round) -> None:
    """An unclean election: records that were read, and perhaps frozen, are thrown away and written over."""
    cluster = round_.arena.cluster
    here = _on_cluster(round_, UNCLEAN)
    is_frozen = round_.rng.random() < 0.5
    tail = [here.journal.intend("tail", i, None) for i in range(round_.rng.randint(2, 6))]
    alone = lambda: here.having(**{"kafka.bootstrap.servers": cluster.reachable})  # noqa: E731

    def seen() -> None:
        round_.ask(alone(), {"library": ways.library})
        if is_frozen:
            round_.freeze(alone())

    values = [json.dumps(entry.identity._asdict()).encode() for entry in tail]
    old_end, new_end = lose_tail(cluster, here.lake.topic, values, seen=seen)
    round_.inject()
    round_.cut_back()
    verdict = Verdict.DECLARED if is_frozen else Verdict.CORRECT
    if not is_frozen:
        _forget_offsets_past(here, new_end)
    for _ in range(2):
        round_.expect(here, verdict)
        here.fill(old_end - new_end + 1, 0)
    round_.expect(here, verdict)


def _forget_offsets_past(here: World, end: int) -> None:
    for identity, entry in list(here.journal.entries.items()):
        if entry.identity.producer == "tail" or (entry.partition == 0 and entry.offset >= end):
            del here.journal.entries[identity]


def _on_cluster(round_: Round, config: dict[str, str]) -> World:
    cluster = round_.arena.cluster
    here = round_.world(partitions=0, bootstrap=cluster.bootstrap)
    cluster.create_topic(here.lake.topic, partitions=2, replicas=3, config=config)
    here.fill(5, 0)
    here.fill(3, 1)
    round_.freeze(here, {0: 3, 1: 1})
    return here.having(planTimeoutMs="8000", readTimeoutMs="15000", noProgressTimeoutMs="8000")


@contextlib.contextmanager
def _sending(round_: Round, here: World) -> Iterator[None]:
    is_over = False

    def send() -> None:
        while not is_over:
            here.fill(1, 0)
            here.fill(1, 1)
            time.sleep(0.05)

    thread = Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        is_over = True
        thread.join()
