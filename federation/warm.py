"""Read what is new of a table into the hot store, so that the next statement finds it there.

A cut is taken as for a statement, its hot ranges are read with all columns, and the rows are let go. It must
not keep state between two looks, nor know who asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from federation.cut import take_cut
from federation.options import store_settings
from federation.plan import answer_schema, plan_hot
from federation.read import Guard, HotMeter, read_hot_rows
from hotset.store import clear_store


def warm_table(options: Mapping[str, str], guard: Guard) -> None:
    """Bring the store up to the end of a table's topic.

    Args:
        options: From `merge_options`.
        guard: Called often; what it raises ends the reading.

    Raises:
        CutError, HotsetError, ColdsetError, OptionError: No exact cut could be taken or read.
    """
    taken = take_cut(options)
    for split in plan_hot(taken, answer_schema(taken), spread=False):
        read_hot_rows(split, HotMeter(), guard)


def leave_stores(tables: Iterable[Mapping[str, str]]) -> None:
    """Remove what the default store holds, unless another process uses it; a store with a name stays.

    Args:
        tables: Options of tables, from `merge_options`.

    Raises:
        HotStoreError: The place of a store cannot be used.
    """
    found = {store_settings(options) for options in tables}
    for settings in found:
        if settings is not None and settings.path is None:
            clear_store(settings)
