"""Ways through engines of others: what pyiceberg reads through the REST catalog, and Spark by its own reader.

These see no receipt of ours but what the snapshot's summary says, or the frame; rows of the frozen half are
theirs to count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.exceptions import NoSuchTableError, RESTError

from federation.cut.cut import Cut
from federation.options.config import Config
from foundation.errors import KafkaIcebergError
from sql_gateway.embedded import serve_catalog
from tests.builders import Lake
from tests.oracle.checker import IDENTITY, DeclaredError, Observed
from tests.oracle.ways import observed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Whose catalog it is, by a name of its own: readers of one table may have other options.
_served: dict[str, Mapping[str, str]] = {}


@cache
def _catalog() -> RestCatalog:
    served = serve_catalog(_served)
    return RestCatalog("gateway", uri=served.uri, token=served.token)


def catalog(lake: Lake) -> Observed:
    """By pyiceberg, over HTTP, from a catalog in this process."""
    options = lake.merged()
    name = f"lake.t{hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()[:16]}"
    _served[name] = options
    try:
        found = _catalog().load_table(name)
    except (RESTError, NoSuchTableError) as exc:
        raise DeclaredError(str(exc)[:500]) from exc
    try:
        rows = found.scan(selected_fields=IDENTITY).to_arrow()
    except Exception as exc:
        # Of files that are gone, hurt or beyond it, the engine speaks in its own words.
        raise DeclaredError(str(exc)[:500]) from exc
    snapshot = found.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    return replace(_told(snapshot.summary.additional_properties), rows=rows)


def _told(summary: Mapping[str, Any]) -> Observed:
    """What a summary says of the cut."""
    cut = Cut.from_token(summary["kafkaiceberg.cut"])
    held_back = json.loads(summary.get("kafkaiceberg.held-back", "{}"))
    assumed = summary.get("kafkaiceberg.assumed", "")
    return Observed(
        rows=None,
        ends={each.partition: each.end for each in cut.ranges},
        held_back={each.partition: held_back.get(str(each.partition), 0) for each in cut.ranges},
        gaps=tuple((gap.partition, gap.start, gap.end) for gap in (*cut.lost, *cut.gaps)),
        cut=summary["kafkaiceberg.cut"],
        rows_hot=int(summary["kafkaiceberg.rows-hot"]),
        confidence=summary.get("kafkaiceberg.confidence"),
        assumed=frozenset(assumed.split(",")) if assumed else frozenset(),
    )


def spark_table(session: SparkSession, lake: Lake) -> Observed:
    """By Spark's own reader, from a frame that has its receipt; the session has Iceberg's runtime."""
    import kafkaiceberg.spark as ki

    try:
        frame: Any = ki.table(session, lake.table, config=Config(), **lake.options)
        rows = frame.select(*IDENTITY).toArrow()
    except KafkaIcebergError:
        raise
    except Exception as exc:
        if "FileNotFoundException" in str(exc) or "NotFoundException" in str(exc):
            raise DeclaredError(str(exc)[:500]) from exc
        raise
    return replace(observed(rows, frame.receipt), rows_cold=None)
