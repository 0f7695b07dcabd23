"""What was sent, written down by those who sent it: the truth that answers are held against.

A producer notes each record before it is sent and its fate afterwards, so that at any moment it is known
what must be in an answer, what must not, and what nobody can know. The journal never reads Kafka or the
table: it would then share their mistakes.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import Producer

from tests.builders import HANG_S, Lake


class Identity(NamedTuple):
    """Who a record says it is; no two records say the same."""

    run: str
    producer: str
    seq: int
    txn: str | None


class Outcome(StrEnum):
    UNKNOWN = "unknown"
    OK = "ok"
    FAILED = "failed"


class TxnState(StrEnum):
    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


@dataclass
class Entry:
    """One record and its fate so far; the place is known once the outcome is ok.

    Of one that is doubtful nobody can know whether an answer should have it.
    """

    identity: Identity
    outcome: Outcome = Outcome.UNKNOWN
    partition: int = -1
    offset: int = -1
    is_doubtful: bool = False


class Mark(NamedTuple):
    """A moment: per partition, the offset after the last record that was promised by then."""

    promised: Mapping[int, int]


class Journal:
    """All records sent to one incarnation of one topic."""

    def __init__(self) -> None:
        self.run = uuid.uuid4().hex[:8]
        self.entries: dict[Identity, Entry] = {}
        self.txns: dict[str, TxnState] = {}
        self._promised: dict[int, int] = {}
        self._names = itertools.count()
        self._lock = threading.Lock()

    def new_name(self, prefix: str) -> str:
        """A name for a sender that no other sender to this topic has."""
        return f"{prefix}{next(self._names)}"

    def mark(self) -> Mark:
        """Take note of what has been promised to senders up to now."""
        with self._lock:
            return Mark(dict(self._promised))

    def intend(self, producer: str, seq: int, txn: str | None) -> Entry:
        entry = Entry(Identity(self.run, producer, seq, txn))
        with self._lock:
            self.entries[entry.identity] = entry
        return entry

    def settle(self, entry: Entry, error: Any, message: Any) -> None:
        with self._lock:
            entry.outcome = Outcome.OK if error is None else Outcome.FAILED
            if error is None:
                entry.partition, entry.offset = message.partition(), message.offset()
                if entry.identity.txn is None:
                    self._promise(entry)

    def note_txn(self, txn: str, state: TxnState) -> None:
        with self._lock:
            self.txns[txn] = state
            if state is TxnState.COMMITTED:
                for entry in self._of_txn(txn):
                    self._promise(entry)

    def is_visible(self, entry: Entry) -> bool | None:
        """Whether readers of committed records may see it; None if nobody can know."""
        state = TxnState.COMMITTED if entry.identity.txn is None else self.txns[entry.identity.txn]
        if entry.is_doubtful:
            return None
        if entry.outcome is Outcome.FAILED or state in (TxnState.ABORTED, TxnState.OPEN):
            return False
        if entry.outcome is Outcome.UNKNOWN or state is TxnState.UNKNOWN:
            return None
        return True

    def begins_txn(self, partition: int, offset: int) -> bool:
        """Whether a transaction has its first record of that partition there."""
        found = [e for e in self.entries.values() if (e.partition, e.offset) == (partition, offset)]
        if not found or found[0].identity.txn is None:
            return False
        return all(
            e.offset >= offset for e in self._of_txn(found[0].identity.txn) if e.partition == partition
        )

    def is_behind_open_txn(self, entry: Entry) -> bool:
        """Whether an earlier record of its partition is of a transaction that has not ended."""
        return any(
            other.partition == entry.partition and other.offset < entry.offset
            for txn, state in list(self.txns.items())
            if state is TxnState.OPEN
            for other in self._of_txn(txn)
        )

    def visible_from(self, partition: int, offset: int) -> list[Entry]:
        found = (e for e in self.entries.values() if e.partition == partition and e.offset >= offset)
        return [entry for entry in found if self.is_visible(entry)]

    def end_of(self, partition: int) -> int:
        """The offset after the last acknowledged record, visible or not."""
        return 1 + max((e.offset for e in self.entries.values() if e.partition == partition), default=-1)

    def _of_txn(self, txn: str) -> Iterator[Entry]:
        return (e for e in self.entries.values() if e.identity.txn == txn and e.outcome is Outcome.OK)

    def _promise(self, entry: Entry) -> None:
        self._promised[entry.partition] = max(self._promised.get(entry.partition, 0), entry.offset + 1)


class Sender:
    """A producer that journals what it does; transactional if it is asked to begin one."""

    def __init__(
        self, lake: Lake, journal: Journal, name: str, *, transactional: bool = False, **producer: str
    ) -> None:
        settings: dict[str, Any] = {"bootstrap.servers": lake.bootstrap, "linger.ms": 1, "log_level": 0}
        settings |= {key.replace("_", "."): value for key, value in producer.items()}
        if transactional:
            settings["transactional.id"] = f"{lake.topic}.{name}"
        self._producer = Producer(settings)
        if transactional:
            self._producer.init_transactions(HANG_S)
        self._topic = lake.topic
        self._journal = journal
        self._name = name
        self._seq = 0
        self._txn: str | None = None

    def send(
        self,
        count: int,
        partition: int = 0,
        *,
        padding: int = 0,
        key: bytes | None = None,
        headers: Mapping[str, bytes] | None = None,
        timestamp_ms: int = 0,
    ) -> None:
        """Send records and wait until all have been acknowledged or refused."""
        for _ in range(count):
            entry = self._journal.intend(self._name, self._seq, self._txn)
            self._seq += 1
            self._producer.produce(
                self._topic,
                json.dumps(
                    entry.identity._asdict() | ({"padding": "x" * padding} if padding else {})
                ).encode(),
                partition=partition,
                key=key,
                headers=list((headers or {}).items()),
                timestamp=timestamp_ms,
                on_delivery=lambda error, message, entry=entry: self._journal.settle(entry, error, message),
            )
        assert self._producer.flush(HANG_S) == 0, "records were neither acknowledged nor refused"

    def begin(self) -> None:
        self._txn = f"{self._name}.{self._seq}"
        self._journal.note_txn(self._txn, TxnState.OPEN)
        self._producer.begin_transaction()

    def commit(self) -> None:
        self._end(self._producer.commit_transaction, TxnState.COMMITTED)

    def abort(self) -> None:
        self._end(self._producer.abort_transaction, TxnState.ABORTED)

    def _end(self, end: Any, state: TxnState) -> None:
        assert self._txn is not None
        # Until the cluster confirms, a commit may or may not have happened.
        if state is TxnState.COMMITTED:
            self._journal.note_txn(self._txn, TxnState.UNKNOWN)
        end(HANG_S)
        self._journal.note_txn(self._txn, state)
        self._txn = None


class DurableJournal(Journal):
    """A journal that is on disk before a record is sent, for producers that will be killed."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("a", encoding="utf-8")

    def intend(self, producer: str, seq: int, txn: str | None) -> Entry:
        entry = super().intend(producer, seq, txn)
        self._note({"intent": entry.identity})
        return entry

    def settle(self, entry: Entry, error: Any, message: Any) -> None:
        super().settle(entry, error, message)
        self._note({"settled": entry.identity, "fate": [entry.outcome.value, entry.partition, entry.offset]})

    def note_txn(self, txn: str, state: TxnState) -> None:
        super().note_txn(txn, state)
        self._note({"txn": txn, "state": state.value})

    def _note(self, what: dict[str, Any]) -> None:
        self._file.write(json.dumps(what) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def recall(journal: Journal, path: Path) -> None:
    """Take over what a killed producer has written down; an intent without a fate stays unknown."""
    whole = path.read_text(encoding="utf-8").rpartition("\n")[0]
    for line in whole.splitlines():
        note = json.loads(line)
        if "intent" in note:
            identity = Identity(*note["intent"])
            journal.entries[identity] = Entry(identity)
        elif "settled" in note:
            outcome, partition, offset = note["fate"]
            entry = journal.entries[Identity(*note["settled"])]
            entry.outcome, entry.partition, entry.offset = Outcome(outcome), partition, offset
        else:
            journal.note_txn(note["txn"], TxnState(note["state"]))


def main(bootstrap: str, topic: str, path: str, seed: str) -> None:
    """Send transactions, one after the other, until killed; every third stays open for a while."""
    lake = Lake(bootstrap, Path(path).parent, topic, topic)
    sender = Sender(lake, DurableJournal(Path(path)), "killed", transactional=True)
    for count in range(int(seed) % 3, 1_000_000):
        sender.begin()
        sender.send(2, count % 2)
        if count % 3 == 2:
            threading.Event().wait(0.5)
        sender.abort() if count % 4 == 3 else sender.commit()


if __name__ == "__main__":
    main(*sys.argv[1:])
