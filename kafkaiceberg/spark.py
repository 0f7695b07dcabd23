"""Federated tables in Spark, read by Spark's own Iceberg reader.

    import kafkaiceberg.spark as ki

    orders = ki.table(spark, "lake.orders")                  # a DataFrame at the cut of this moment
    ki.sql(spark, "SELECT count(*) FROM lake.orders")        # one fresh cut per table of the statement
    ki.attach(spark)                                         # then, in plain SQL, fresh at each statement:
    spark.sql("SELECT count(*) FROM kafkaiceberg.lake.orders")

The session needs Iceberg's runtime jar. Without it, `table` and `sql` use the Python data source and say so
once.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from federation.cut import take_cut
from federation.ephemeral import EphemeralSnapshot, publish_cut
from federation.errors import OptionError, SqlError
from federation.options import Config, load_config, merge_options
from kafkaiceberg.table_names import find_tables, name_frames

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CATALOG: Final = "kafkaiceberg"
_RUNTIME: Final = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
_NO_JAR: Final = (
    "this Spark session has no Iceberg runtime, so tables are read through Python, many times slower; start "
    f"it with spark.jars.packages={_RUNTIME}"
)


def table(
    spark: SparkSession,
    name: str,
    *,
    columns: Sequence[str] | None = None,
    config: Config | None = None,
    **options: str,
) -> DataFrame:
    """Return a table at the cut of this moment, as a DataFrame.

    The frame stays at its cut, however often it is used; its attribute `receipt` tells which cut that is. Its
    files stay for `ephemeralKeepMs`.

    Args:
        spark: The session.
        name: Namespace and name, joined by a dot.
        columns: The columns wanted, in order; all if None.
        config: The configuration file; `load_config()` if None.
        **options: Read options; see OPTIONS.md. They win over the file's.

    Raises:
        CutError, HotsetError, ColdsetError, OptionError: No exact cut could be taken or read.
    """
    merged = _merge(name, options, config)
    if _is_elsewhere(spark) and "scratchLocation" not in merged:
        raise OptionError(
            "this session's Spark Connect server is on another machine, which cannot read files of this one; "
            "name a place that both reach in scratchLocation",
            option="scratchLocation",
        )
    published = publish_cut(take_cut(merged))
    found: Any = _frame(spark, published, merged)
    if columns is not None:
        found = found.select(*(f"`{column.replace('`', '``')}`" for column in columns))
    found.receipt = published.receipt
    return cast("DataFrame", found)


def sql(
    spark: SparkSession, statement: str, *, config: Config | None = None, **options: Mapping[str, str]
) -> DataFrame:
    """Run a statement of Spark's SQL in which each federated table is at one fresh cut.

    A table is federated if the configuration file names it, or `options` does. All other names are Spark's.

    Args:
        spark: The session.
        statement: The statement; a federated table is named as `lake.orders` or `kafkaiceberg.lake.orders`.
        config: The configuration file; `load_config()` if None.
        **options: Read options of tables, by their names.

    Returns:
        The result, not computed yet. Its attribute `receipts` has the receipt of each federated table by
        name.

    Raises:
        SqlError: The statement cannot be parsed.
        CutError, HotsetError, ColdsetError, OptionError: No exact cut could be taken or read.
    """
    settings = load_config() if config is None else config
    known = {*settings.tables, *options}
    found = find_tables(statement, known, CATALOG)
    if not found.tables:
        raise SqlError(
            f"the statement names no federated table; there are {', '.join(sorted(known)) or 'none'}; use "
            "spark.sql for others"
        )
    frames = {
        name: table(spark, name, config=settings, **options.get(name, {})) for name in sorted(found.tables)
    }
    names = {name: f"t{number}" for number, name in enumerate(frames)}
    text = name_frames(statement, found, names)
    given: Any = {names[name]: frame for name, frame in frames.items()}
    result: Any = spark.sql(text, **given)
    result.receipts = {name: frame.receipt for name, frame in frames.items()}
    return cast("DataFrame", result)


def attach(
    spark: SparkSession,
    *,
    name: str = CATALOG,
    uri: str | None = None,
    token: str | None = None,
    config: Config | None = None,
) -> None:
    """Make federated tables a catalog of the session: from then on, each statement that names one is fresh.

    Spark loads a table once for a statement, so however often the statement names it, it is at one cut. A
    view over it is fresh at each use; a cached DataFrame is not.

    Args:
        spark: The session.
        name: What the catalog is called.
        uri: A gateway's Iceberg REST catalog, such as `https://gateway:8765/iceberg`; if None, one is served
            in this process, which Spark's driver must be able to reach.
        token: What the gateway asks for.
        config: The configuration file; `load_config()` if None.

    Raises:
        OptionError: The configuration file names no table, the name is taken, the session has no Iceberg
            runtime, or its server cannot reach this process.
    """
    known = spark.conf.get(f"spark.sql.catalog.{name}.uri", None)
    if known is not None and uri in (None, known):
        return
    if known is not None:
        raise OptionError(
            f"catalog {name!r} of this session is attached to {known} already, which Spark does not let go; "
            "choose another name",
            option="name",
        )
    _require_runtime(spark)
    if uri is None:
        if _is_elsewhere(spark):
            raise OptionError(
                "this session's Spark Connect server is on another machine, which cannot ask one in this "
                "process; give the uri of a gateway",
                option="uri",
            )
        uri, token = _serve(load_config() if config is None else config)
    prefix = f"spark.sql.catalog.{name}"
    settings = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "rest",
        ".uri": uri,
        # With its cache Spark would read the first state for as long as the session lives.
        ".cache-enabled": "false",
        **({} if token is None else {".token": token}),
    }
    for key, value in settings.items():
        spark.conf.set(f"{prefix}{key}", value)


def _serve(config: Config) -> tuple[str, str]:
    from sql_gateway.embedded import serve_catalog

    if not config.tables:
        raise OptionError(
            "no table is registered; name tables in kafkaiceberg.toml, or give the uri of a gateway"
        )
    served = serve_catalog({name: _merge(name, {}, config) for name in config.tables})
    return served.uri, served.token


def _require_runtime(spark: SparkSession) -> None:
    """Raise if a session has no Iceberg runtime.

    Raises:
        OptionError: It has none; Spark itself would say so later, and not what to do.
    """
    try:
        _ = spark.read.format("iceberg").load("file:///nothing").schema
    except Exception as exc:
        if _is_without_runtime(exc):
            raise OptionError(
                "this Spark session has no Iceberg runtime, which a catalog needs; start it with "
                f"spark.jars.packages={_RUNTIME}, or use `table` or `sql`"
            ) from exc


def _is_without_runtime(error: Exception) -> bool:
    return "DATA_SOURCE_NOT_FOUND" in str(error)


def _is_elsewhere(spark: SparkSession) -> bool:
    """Return whether a session is a client of a Spark Connect server on another machine."""
    if not type(spark).__module__.startswith("pyspark.sql.connect"):
        return False
    session: Any = spark
    return session.client.host not in ("localhost", "127.0.0.1", "::1")


def _merge(name: str, options: Mapping[str, str], config: Config | None) -> dict[str, str]:
    settings = load_config() if config is None else config
    return merge_options(name, options, settings.options_of(name))


def _frame(spark: SparkSession, published: EphemeralSnapshot, options: Mapping[str, str]) -> DataFrame:
    try:
        frame = spark.read.format("iceberg").load(published.location)
        # Spark Connect looks for the reader when it is first asked for something.
        _ = frame.schema
    except Exception as exc:
        if not _is_without_runtime(exc):
            raise
    else:
        return frame
    warnings.warn(_NO_JAR, stacklevel=4)
    given = {key: value for key, value in options.items() if key not in ("path", "cut")}
    return spark.read.format("kafkaiceberg").options(**given, cut=published.cut).load(published.table)
