"""What one reading through the store took from where, and how long its statement waited for that.

The file must not know how anything is read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(slots=True)
class ReadMeter:
    """What one reading took from where, and how long that was.

    Attributes:
        records_resident: Records that were in the store.
        records_fetched: Records that were read from Kafka.
        fetch_ms, decode_ms: Milliseconds of waiting for Kafka, which is read meanwhile, and of decoding.
        store_ms: Milliseconds of finding, waiting for and writing chunks; not of what is written later.
        is_stored: Whether all that was read last is in the store now, or is little and about to be.
    """

    records_resident: int = 0
    records_fetched: int = 0
    fetch_ms: float = 0.0
    decode_ms: float = 0.0
    store_ms: float = 0.0
    is_stored: bool = False

    @property
    def records(self) -> int:
        """Records from wherever they came."""
        return self.records_resident + self.records_fetched

    @property
    def stages_ms(self) -> dict[str, float]:
        """The times, as a receipt names them."""
        return {"fetch": self.fetch_ms, "decode": self.decode_ms, "store": self.store_ms}


class StoreClock:
    """Adds what a block took to the store's milliseconds."""

    def __init__(self, meter: ReadMeter) -> None:
        self._meter = meter
        self._began_s = 0.0

    def __enter__(self) -> None:
        self._began_s = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._meter.store_ms += (time.monotonic() - self._began_s) * 1000
