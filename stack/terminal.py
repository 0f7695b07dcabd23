"""What the demo writes: lines, steps that show they are alive, and small tables.

Everything a person sees passes through here, so that output is flushed at once and a reader that
goes away is noticed in one place. It must not know what the lines mean.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_TICK_S = 1.0


def say(text: str = "", *, end: str = "\n") -> None:
    """Write a line.

    Raises:
        BrokenPipeError: Nobody reads any more.
    """
    sys.stdout.write(text + end)
    sys.stdout.flush()


class Step:
    """One piece of work on one line; `result` is written at its end."""

    def __init__(self) -> None:
        self.result = ""


@contextlib.contextmanager
def step(text: str) -> Iterator[Step]:
    """Write what begins, a dot each second while it lasts, and then how long it took.

    Raises:
        BrokenPipeError: Nobody reads any more.
    """
    done = threading.Event()

    def tick() -> None:
        with contextlib.suppress(OSError, ValueError):
            while not done.wait(_TICK_S):
                say(".", end="")

    began_s = time.monotonic()
    say(f"  {text} ", end="")
    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    current = Step()
    try:
        yield current
    except BaseException:
        done.set()
        with contextlib.suppress(OSError):
            say()
        raise
    done.set()
    ticker.join()
    elapsed = f"{time.monotonic() - began_s:.1f} s"
    say(f" {elapsed}" + (f": {current.result}" if current.result else ""))


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]], indent: str = "     ") -> str:
    """Return rows as aligned text."""
    cells = [[str(name) for name in columns], *[["" if v is None else str(v) for v in row] for row in rows]]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in cells]
    return "\n".join(indent + line.rstrip() for line in lines)


def receipt_text(receipt: Mapping[str, Any], mark: Mapping[int, str] | None = None) -> str:
    """Return one table's part of a receipt, as the gateway sent it, for a person.

    Args:
        receipt: From the JSON answer.
        mark: Remarks to put beside partitions.

    Raises:
        KeyError: It is no receipt.
    """
    age = receipt["newest_age_ms"]
    newest = "nothing hot" if age is None else f"newest record {age} ms old"
    stages = ", ".join(f"{stage} {ms:.1f}" for stage, ms in receipt["stages_ms"].items())
    names = ("partition", "committed", "start", "end", "")
    rows = [[*(p[name] for name in names[:-1]), ""] for p in receipt["partitions"]]
    lines = table(names, rows).splitlines()
    for number, found in enumerate(receipt["partitions"], start=1):
        remark = (mark or {}).get(found["partition"])
        lines[number] += f"  <- {remark}" if remark else ""
    return "\n".join(
        [
            f"   receipt: snapshot {receipt['snapshot_id']}, {receipt['rows_cold']} rows cold + "
            f"{receipt['rows_hot']} hot, {newest}",
            *lines,
            f"     milliseconds: {stages}",
        ]
    )
