"""What one reading of hot rows took from where, and how long that was.

It is filled while rows are read, and shown in receipts. The file must not know how anything is read.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class ReadMeter:
    """Counts and milliseconds of one reading.

    Attributes:
        records_resident: Records whose rows were in a chunk, or kept by this process.
        records_fetched: Records that were read from Kafka.
        fetch_ms, decode_ms: Milliseconds of waiting for Kafka, and of decoding.
        store_ms: Milliseconds of finding and writing chunks; not of what is written later.
    """

    records_resident: int = 0
    records_fetched: int = 0
    fetch_ms: float = 0.0
    decode_ms: float = 0.0
    store_ms: float = 0.0

    @property
    def records(self) -> int:
        """Records from wherever they came."""
        return self.records_resident + self.records_fetched

    @property
    def stages_ms(self) -> dict[str, float]:
        """The times, as a receipt names them."""
        return {"fetch": self.fetch_ms, "decode": self.decode_ms, "store": self.store_ms}

    @contextmanager
    def storing(self) -> Iterator[None]:
        """Add what the block takes to the store's milliseconds, but for fetching and decoding inside."""
        began_s, inner_ms = time.monotonic(), self.fetch_ms + self.decode_ms
        try:
            yield
        finally:
            inner_ms = self.fetch_ms + self.decode_ms - inner_ms
            self.store_ms += (time.monotonic() - began_s) * 1000 - inner_ms
