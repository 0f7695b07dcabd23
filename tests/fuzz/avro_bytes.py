"""Avro's bytes, written in every way that the specification allows.

Written by hand and by chance: blocks of any length, with and without their size in bytes.
It must not know the decoder, nor the library that judges it.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence


def number(value: int) -> bytes:
    """A zigzag varint."""
    left = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while left > 0x7F:
        encoded.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*encoded, left])


def counted(data: bytes) -> bytes:
    return number(len(data)) + data


def blocks(rng: random.Random, items: Sequence[bytes]) -> bytes:
    """Items in one or several blocks."""
    encoded, at = b"", 0
    while at < len(items):
        size = rng.randint(1, len(items) - at)
        body = b"".join(items[at : at + size])
        at += size
        is_sized = rng.random() < 0.3
        encoded += number(-size) + number(len(body)) + body if is_sized else number(size) + body
    return encoded + b"\0"


def some_int(rng: random.Random, bits: int) -> int:
    """A whole number of so many bits: small ones, large ones, and those at the edge."""
    if rng.random() < 0.1:
        return rng.choice([-(1 << bits - 1), (1 << bits - 1) - 1, 0, -1])
    return rng.randrange(-(1 << bits - 1), 1 << bits - 1) >> rng.randrange(bits)


def some_double(rng: random.Random) -> bytes:
    special = [0.0, -0.0, 0.5, float("nan"), float("inf"), -float("inf"), 1e300, 2.0**24, 0.1, 3.5e38]
    return struct.pack("<d", rng.choice([rng.gauss(0, 1e6), rng.choice(special)]))


def some_float(rng: random.Random) -> bytes:
    """Four bytes; any four are a float."""
    usual = struct.pack("<f", rng.uniform(-9, 9))
    return rng.choice([usual, rng.randbytes(4), b"\0\0\xc0\x7f", b"\0\0\0\x80"])


def some_text(rng: random.Random) -> bytes:
    return "".join(rng.choice("abcxyz \0é€😀") for _ in range(rng.choice([0, 1, 5, 20]))).encode()
