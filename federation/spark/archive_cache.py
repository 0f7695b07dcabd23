"""Keep Spark's Python workers from re-reading their archives at every call.

Before each call PySpark 4.1 runs `importlib.invalidate_caches()`, and CPython's
zip importer then reads the directories of pyspark.zip and of the jars on its
path again: about 0.1 s a call, three calls a query. An archive that has not
changed need not be read again. This file must stay correct if Spark stops
calling it; later Spark and Python releases make it a no-op.
"""

from __future__ import annotations

import os
import zipimport
from typing import Final

_seen: Final[dict[str, tuple[int, int]]] = {}
_invalidate: Final = zipimport.zipimporter.invalidate_caches


def _invalidate_if_changed(importer: zipimport.zipimporter) -> None:
    try:
        found = os.stat(importer.archive)
    except OSError:
        _invalidate(importer)
        return
    now = (found.st_size, found.st_mtime_ns)
    if _seen.get(importer.archive) != now:
        _seen[importer.archive] = now
        _invalidate(importer)


def guard_archive_caches() -> None:
    """Skip re-reading zip archives that have the same size and time as before."""
    zipimport.zipimporter.invalidate_caches = _invalidate_if_changed  # type: ignore[method-assign,assignment]
