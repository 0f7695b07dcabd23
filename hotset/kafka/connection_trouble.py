"""What went wrong with the connections of a client, so that a late answer can say why.

librdkafka tries again for ever and reports each failure beside the answer that does not come. This
file keeps what says most, and knows when waiting is no use. A broker that wants a password closes the
connection of a client that brings none; that is an answer of its own, of which only a log line tells. It
opens no connection.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import KafkaError

from foundation.deadline import Deadline
from hotset.errors import HotsetError, KafkaAccessError, KafkaUnavailableError
from hotset.kafka.error_translation import ALL_BROKERS_DOWN, GROUP_REFUSED, error_class

_CLOSED: Final = re.compile(r"([^ ]+): Disconnected: connection closed by peer.* in state (\w+)")
_UP: Final = "UP"
# A broker that is stopped closes a connection once, and takes no new one.
_CLOSED_FOR_GOOD: Final = 3


@dataclass(slots=True)
class Trouble:
    """What librdkafka has reported about the connections of one client since its last answer.

    `closed` is the address of a broker that took a connection and closed it, and `closings` how often
    that was done to one on which the broker had already spoken, by handle. A client that has ever had an
    answer speaks the broker's language, however often a broker that restarts closes its connections. It is
    the client's logger, too.
    """

    text: str = ""
    cls: type[HotsetError] = KafkaUnavailableError
    refusals: int = 0
    are_all_down: bool = False
    closed: str = ""
    closings: Counter[str] = field(default_factory=Counter)
    was_answered: bool = False

    def log(self, *words: object, **_: object) -> None:
        """Take a line of the Python client's log."""
        self.hear(str(words[-1]) if words else "", "client")

    def hear(self, line: str, handle: str) -> None:
        """Take a line of a handle's log: but for closed connections, what matters arrives as an error."""
        found = _CLOSED.search(line)
        if found is not None:
            self.closed = found[1].removesuffix("/bootstrap")
            self.closings[handle] += found[2] == _UP

    def note(self, error: KafkaError) -> None:
        """Keep what says most: a refusal also looks like a lost connection, and then like no broker."""
        if error.code() == GROUP_REFUSED:
            return
        cls = error_class(error, KafkaUnavailableError)
        if cls is KafkaAccessError:
            self.refusals += 1
        elif self.cls is KafkaAccessError or error.code() == ALL_BROKERS_DOWN:
            self.are_all_down |= error.code() == ALL_BROKERS_DOWN
            if self.text:
                return
        self.text, self.cls = error.str(), cls

    def begin(self) -> int:
        """Forget why earlier calls failed; return the mark that `require_access` takes."""
        self.text, self.cls = "", KafkaUnavailableError
        self.closed, self.closings = "", Counter()
        return self.refusals

    def end(self) -> None:
        """Note that a broker has answered."""
        self.are_all_down, self.was_answered = False, True
        self.closed, self.closings = "", Counter()

    def require_access(self, doing: str, mark: int) -> None:
        """Raise if no broker is left that has not refused this client since `begin`.

        Raises:
            KafkaAccessError: None is left, so that waiting is no use.
        """
        if self.are_all_down and self.refusals > mark:
            raise self._refused(doing)
        is_closed_for_good = max(self.closings.values(), default=0) >= _CLOSED_FOR_GOOD
        if self.are_all_down and is_closed_for_good and not self.was_answered:
            raise KafkaAccessError(f"{doing} failed: {self._wants_another_way()}")

    def late(self, doing: str, deadline: Deadline) -> HotsetError:
        """Return the error for a call that ran out of time."""
        if self.cls is KafkaAccessError:
            return self._refused(doing)
        late = f"{doing}: no answer within {deadline.budget_ms} ms"
        if self.closed and not self.was_answered:
            return self.cls(f"{late}: {self._wants_another_way()}", budget_ms=deadline.budget_ms)
        reason = f"; last error: {self.text}" if self.text else ""
        return self.cls(
            f"{late}{reason}; check that the brokers are reachable from here", budget_ms=deadline.budget_ms
        )

    def _wants_another_way(self) -> str:
        return (
            f"{self.closed} takes connections and closes them, as a listener does that wants SASL or TLS; "
            "set kafka.security.protocol, and what goes with it, to what that listener speaks"
        )

    def _refused(self, doing: str) -> HotsetError:
        return KafkaAccessError(
            f"{doing} failed: {self.text}; check the credentials, ssl.ca.location, and that the broker's "
            "certificate is valid and names the host that is connected to"
        )
