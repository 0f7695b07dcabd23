"""What went wrong with the connections of a client, so that a late answer can say why.

librdkafka tries again for ever and reports each failure beside the answer that does not come. This
file keeps what says most, and knows when waiting is no use. It opens no connection.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from confluent_kafka import KafkaError

from foundation.deadline import Deadline
from hotset.errors import HotsetError, KafkaAccessError, KafkaUnavailableError
from hotset.kafka.error_translation import ALL_BROKERS_DOWN, GROUP_REFUSED, error_class


@dataclass(slots=True)
class Trouble:
    """What librdkafka has reported about the connections of one client since its last answer."""

    text: str = ""
    cls: type[HotsetError] = KafkaUnavailableError
    refusals: int = 0
    are_all_down: bool = False

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
        return self.refusals

    def end(self) -> None:
        """Note that a broker has answered."""
        self.are_all_down = False

    def require_access(self, doing: str, mark: int) -> None:
        """Raise if no broker is left that has not refused this client since `begin`.

        Raises:
            KafkaAccessError: None is left, so that waiting is no use.
        """
        if self.are_all_down and self.refusals > mark:
            raise self._refused(doing)

    def late(self, doing: str, deadline: Deadline) -> HotsetError:
        """Return the error for a call that ran out of time."""
        if self.cls is KafkaAccessError:
            return self._refused(doing)
        reason = f"; last error: {self.text}" if self.text else ""
        return self.cls(
            f"{doing}: no answer within {deadline.budget_ms} ms{reason}; "
            "check that the brokers are reachable from here",
            budget_ms=deadline.budget_ms,
        )

    def _refused(self, doing: str) -> HotsetError:
        return KafkaAccessError(
            f"{doing} failed: {self.text}; check the credentials, ssl.ca.location, and that the broker's "
            "certificate is valid and names the host that is connected to"
        )


class _Silent:
    """Takes librdkafka's log lines: what matters arrives as an error instead."""

    def log(self, *args: object, **kwargs: object) -> None:
        """Drop the line."""


SILENT: Final = _Silent()
