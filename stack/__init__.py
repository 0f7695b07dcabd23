"""Local services for the demo, the tests and the benchmarks: real ones, started as processes.

Nothing outside this package, `tests` and `benchmarks` may import it. It must not know how a query
is answered; it only provides what a query is asked against.
"""

from __future__ import annotations

from stack.cluster import KafkaCluster
from stack.errors import StackError
from stack.kafka import KafkaBroker
from stack.process import ManagedProcess
from stack.proxy import TcpProxy

__all__ = ["KafkaBroker", "KafkaCluster", "ManagedProcess", "StackError", "TcpProxy"]
