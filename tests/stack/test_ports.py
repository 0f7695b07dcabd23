"""Ports that are given to services: not the same one twice while the first may still be wanted."""

from __future__ import annotations

import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from stack.java import ROOT
from stack.ports import HOST, PORTS, free_port

ASK = "from stack.ports import free_port; print(*(free_port() for _ in range(50)), flush=True); input()"


def test_no_port_is_given_twice_within_a_while() -> None:
    with ThreadPoolExecutor(4) as pool:
        given = list(pool.map(lambda _: free_port(), range(100)))

    assert len(set(given)) == 100
    assert set(given) <= set(PORTS)


def test_processes_that_live_at_once_are_given_different_ports() -> None:
    others = [
        subprocess.Popen(
            [sys.executable, "-c", ASK], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    try:
        given = [list(map(int, other.stdout.readline().split())) for other in others if other.stdout]
    finally:
        for other in others:
            other.communicate("\n", timeout=30)

    assert [len(each) for each in given] == [50] * 4
    assert len({port for each in given for port in each}) == 200


def test_a_port_that_somebody_listens_on_is_passed_over() -> None:
    first = free_port()
    with socket.socket() as listening:
        listening.bind((HOST, first + 1 if first + 1 in PORTS else first))
        listening.listen()
        assert listening.getsockname()[1] not in {free_port() for _ in range(150)}
