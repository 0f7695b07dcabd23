"""Ways to hurt a payload: what networks, disks, other formats and enemies do to bytes.

Each takes random numbers and a payload and returns another; none knows a format.
A payload may come out as it was, if there was nothing to hurt.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

Mutation = Callable[[random.Random, bytes], bytes]

_NASTY: Final = (
    b"\x00",
    b"\x01",
    b"\x02",
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xfe\xff\xff\xff\x0f",  # 2147483647 as a zigzag varint
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # the longest and least one
    b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\xff" * 11,  # a varint that does not end
    b"\x80" * 12,
    b"\xed\xa0\x80",  # a surrogate, which is not UTF-8
    b"\xc0\xaf",
    b"\xf4\x90\x80\x80",
    b"\x00\x00\xc0\x7f",
    b'"',
    b"{",
    b"}",
    b"]",
    b",",
    b"\n",
    b"\xef\xbb\xbf",
)


def _flip_bit(rng: random.Random, payload: bytes) -> bytes:
    at = _place(rng, payload)
    return (
        payload[:at]
        + bytes(byte ^ (1 << rng.randrange(8)) for byte in payload[at : at + 1])
        + payload[at + 1 :]
    )


def _set_byte(rng: random.Random, payload: bytes) -> bytes:
    at = _place(rng, payload)
    return payload[:at] + bytes([rng.randrange(256)]) + payload[at + 1 :]


def _delete(rng: random.Random, payload: bytes) -> bytes:
    at = _place(rng, payload)
    return payload[:at] + payload[at + _length(rng) :]


def _truncate(rng: random.Random, payload: bytes) -> bytes:
    return payload[: _place(rng, payload)]


def _insert_nasty(rng: random.Random, payload: bytes) -> bytes:
    at = _place(rng, payload)
    return payload[:at] + rng.choice(_NASTY) + payload[at:]


def _write_nasty(rng: random.Random, payload: bytes) -> bytes:
    at, nasty = _place(rng, payload), rng.choice(_NASTY)
    return payload[:at] + nasty + payload[at + rng.randint(0, len(nasty)) :]


def _append(rng: random.Random, payload: bytes) -> bytes:
    return payload + rng.randbytes(_length(rng))


def _duplicate(rng: random.Random, payload: bytes) -> bytes:
    at, length = _place(rng, payload), _length(rng)
    return payload[: at + length] + payload[at:]


def _swap(rng: random.Random, payload: bytes) -> bytes:
    at, length = _place(rng, payload), _length(rng)
    return (
        payload[:at]
        + payload[at + length : at + 2 * length]
        + payload[at : at + length]
        + payload[at + 2 * length :]
    )


def _forget(rng: random.Random, payload: bytes) -> bytes:
    return b"" if rng.random() < 0.1 else rng.randbytes(rng.randint(0, len(payload) + 4))


MUTATIONS: Final[Sequence[Mutation]] = (
    _flip_bit,
    _set_byte,
    _delete,
    _truncate,
    _insert_nasty,
    _write_nasty,
    _append,
    _duplicate,
    _swap,
    _forget,
)


def mutate(rng: random.Random, payload: bytes) -> bytes:
    """Hurt a payload once, or rarely up to four times."""
    for _ in range(1 if rng.random() < 0.7 else rng.randint(2, 4)):
        payload = rng.choice(MUTATIONS)(rng, payload)
    return payload


def _place(rng: random.Random, payload: bytes) -> int:
    return rng.randrange(len(payload)) if payload else 0


def _length(rng: random.Random) -> int:
    return rng.randint(1, 4) if rng.random() < 0.8 else rng.randint(5, 40)
