"""Whether a statement may share its connection with others that come later.

A SELECT writes nothing, but a connection has a source of random numbers, which a statement can seed, and
numbers that tell its place in a row. Whoever touches them runs on a connection of its own. What a function
does is known of its name alone; this file must not know tables.
"""

from __future__ import annotations

from typing import Any, Final

from federation.engine.statement.syntax_tree import nodes_of

# All that the engine calls volatile, but what only fails.
TRACES: Final = frozenset(
    {
        "current_connection_id",
        "current_query",
        "current_query_id",
        "current_transaction_id",
        "currval",
        "gen_random_uuid",
        "nextval",
        "random",
        "setseed",
        "setval",
        "sleep_ms",
        "stats",
        "uuid",
        "uuidv4",
        "uuidv7",
        "vector_type",
        "write_log",
    }
)


def leaves_no_trace(tree: Any) -> bool:
    """Return whether a statement neither changes its connection nor shows what others have changed there.

    Args:
        tree: What `json_serialize_sql` answers.
    """
    return not any(
        # A sample of so many rows is drawn with the connection's random numbers.
        node.get("sample") is not None or str(node.get("function_name", "")).lower() in TRACES
        for node in nodes_of(tree)
    )
