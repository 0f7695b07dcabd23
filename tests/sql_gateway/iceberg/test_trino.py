"""Trino, as it is, over the gateway's REST catalog: the rows that our own SQL has, fresh at each statement.

Tables of all shapes are recorded, and each is given hot rows. What is asked is what users of Trino ask.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from federation.engine.run.query import run_query
from sql_gateway.embedded import EmbeddedCatalog, serve_catalog
from stack import KafkaBroker, StackError
from stack.java import newer_java
from stack.objects import ObjectStore
from stack.trino import HOME, JAVA, TrinoError, TrinoServer
from tests.builders import EVENTS, Lake, commit_until, unique
from tests.coldset.agreement import as_sorted, as_typed
from tests.conftest import MakeLake
from tests.federation.ephemeral.hot_rows import give_topic
from tests.federation.ephemeral.recorded_shapes import SHAPES, play
from tests.object_lakes import object_lake
from tests.sql_gateway.iceberg.events import send
from tests.sql_gateway.iceberg.trino_values import as_rows

UNREAD = 4

pytestmark = [pytest.mark.kafka, pytest.mark.long]


@pytest.fixture(scope="module")
def trino(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrinoServer]:
    try:
        newer_java(JAVA)
    except StackError as exc:
        pytest.skip(f"Trino does not run here: {exc}")
    if not (HOME / "lib").is_dir():
        pytest.skip("Trino is not here: `make test-trino` fetches it")
    with TrinoServer.start(tmp_path_factory.mktemp("trino") / "server") as running:
        yield running


@pytest.fixture
def catalog(trino: TrinoServer, made: Lake) -> str:
    """The name that a catalog with the table has in Trino."""
    return attach(trino, serve_catalog({made.table: made.merged()}))


def attach(trino: TrinoServer, served: EmbeddedCatalog, **settings: str) -> str:
    name = unique("gateway")
    trino.add_catalog(
        name,
        {
            "iceberg.catalog.type": "rest",
            "iceberg.rest-catalog.uri": served.uri,
            "iceberg.rest-catalog.security": "OAUTH2",
            "iceberg.rest-catalog.oauth2.token": served.token,
            **settings,
        },
    )
    return name


def seqs(trino: TrinoServer, table: str, where: str = "true") -> list[int]:
    return [row[0] for row in trino.sql(f"SELECT seq FROM {table} WHERE {where} ORDER BY seq").rows]


def test_every_shape_of_table_has_the_rows_that_our_sql_has(
    trino: TrinoServer, broker: KafkaBroker, tmp_path: Path
) -> None:
    tables = {}
    for shape in SHAPES:
        table = play(shape, tmp_path)
        tables[shape] = (table.name, give_topic(table, broker.bootstrap))
    catalog = attach(trino, serve_catalog(dict(tables.values())))

    wrong, unread = {}, []
    for shape, (name, options) in tables.items():
        ours = run_query(f"SELECT * FROM {name}", {name: options}).rows
        try:
            trino.sql(f"SELECT * FROM {catalog}.{name.replace('.', '_cold.')}")
        except TrinoError:
            # Deletion vectors, and specs of columns that are gone: this Trino does not read the table itself.
            unread.append(shape)
            continue
        if differs := difference(trino, f"{catalog}.{name}", as_typed(ours, ours.schema)):
            wrong[shape] = differs
    assert wrong == {}
    assert len(unread) <= UNREAD, unread


def difference(trino: TrinoServer, table: str, ours: pa.Table) -> str | None:
    """What Trino says of a table that we do not: rows, how many, or what is least and greatest."""
    rows = as_rows(trino.sql(f"SELECT * FROM {table}"), ours.schema)
    if as_sorted(rows) != as_sorted(ours):
        return f"{as_sorted(rows)[:3]} is not {as_sorted(ours)[:3]}"
    ordered = [
        field.name for field in ours.schema if pa.types.is_integer(field.type) or pa.types.is_date(field.type)
    ]
    wanted = ", ".join(f'min("{name}"), max("{name}")' for name in ordered)
    [told] = trino.sql(f"SELECT count(*), {wanted} FROM {table}").rows
    extremes = [each for name in ordered for each in pc.min_max(ours.column(name)).as_py().values()]
    expected = (ours.num_rows, *(str(each) if isinstance(each, date) else each for each in extremes))
    return None if told == expected else f"{told} is not {expected}"


def test_each_statement_is_fresh(trino: TrinoServer, catalog: str, made: Lake) -> None:
    table = f"{catalog}.{made.table}"
    assert seqs(trino, table) == list(range(6))

    for end in range(7, 12):
        send(made, end - 1, end)
        assert seqs(trino, table) == list(range(end))
        if end % 2:
            commit_until(made)
            assert seqs(trino, table) == list(range(end))


def test_a_statement_that_names_a_table_twice_has_one_cut(
    trino: TrinoServer, catalog: str, made: Lake
) -> None:
    table, over = f"{catalog}.{made.table}", threading.Event()

    def keep_sending() -> None:
        for seq in range(6, 10_000):
            if over.is_set():
                return
            send(made, seq, seq + 1)

    sender = threading.Thread(target=keep_sending)
    sender.start()
    try:
        counted = [
            trino.sql(
                f"WITH w AS (SELECT max(seq) + 1 AS n FROM {table}) SELECT a.n, b.n, w.n FROM "
                f"(SELECT count(*) AS n FROM {table}) a, (SELECT count(*) AS n FROM {table}) b, w"
            ).rows[0]
            for _ in range(10)
        ]
    finally:
        over.set()
        sender.join()

    assert [row for row in counted if len(set(row)) > 1] == []
    assert counted[0] < counted[-1]


def test_filters_reach_the_files_of_both_halves(trino: TrinoServer, catalog: str, made: Lake) -> None:
    table = f"{catalog}.{made.table}"

    hot = trino.sql(f"SELECT count(*) FROM {table} WHERE seq >= 4")
    cold = trino.sql(f"SELECT count(*) FROM {table} WHERE seq = 1")
    neither = trino.sql(f"SELECT count(*) FROM {table} WHERE seq > 5")

    assert (hot.rows[0][0], hot.read_rows) == (2, 2)
    assert (cold.rows[0][0], cold.read_rows) == (1, 4)
    assert (neither.rows[0][0], neither.read_rows) == (0, 0)


def test_the_halves_are_there_by_name(trino: TrinoServer, catalog: str, made: Lake) -> None:
    name = made.table.partition(".")[2]

    assert seqs(trino, f"{catalog}.lake_cold.{name}") == list(range(4))
    assert seqs(trino, f"{catalog}.lake_hot.{name}") == [4, 5]


def test_a_catalog_can_be_looked_through(trino: TrinoServer, catalog: str, made: Lake) -> None:
    name = made.table.partition(".")[2]

    schemas = {row[0] for row in trino.sql(f"SHOW SCHEMAS FROM {catalog}").rows}
    columns = trino.sql(f"DESCRIBE {catalog}.{made.table}").rows
    listed = trino.sql(f"SELECT table_schema, table_name FROM {catalog}.information_schema.tables").rows
    told = trino.sql(f'SELECT summary FROM {catalog}.lake."{name}$snapshots" ORDER BY committed_at').rows

    assert schemas == {"information_schema", "lake", "lake_cold", "lake_hot", "system"}
    assert trino.sql(f"SHOW TABLES FROM {catalog}.lake").rows == ((name,),)
    assert [row[0] for row in columns] == ["run", "producer", "seq", "txn"]
    assert {row for row in listed if row[0].startswith("lake")} == {
        (schema, name) for schema in ("lake", "lake_cold", "lake_hot")
    }
    assert told[-1][0]["kafkaiceberg.rows-hot"] == "2"


def test_an_earlier_snapshot_has_no_hot_rows(trino: TrinoServer, catalog: str, made: Lake) -> None:
    snapshot = made.load().current_snapshot()
    assert snapshot is not None

    found = seqs(trino, f"{catalog}.{made.table} FOR VERSION AS OF {snapshot.snapshot_id}")

    assert found == list(range(4))


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO {t} (producer, seq) VALUES ('p', 9)",
        "DELETE FROM {t} WHERE seq = 1",
        "DROP TABLE {t}",
        "ALTER TABLE {t} ADD COLUMN more bigint",
        "ALTER TABLE {t} EXECUTE optimize",
        "CREATE TABLE {c}.lake.another (seq bigint)",
        "CREATE SCHEMA {c}.another",
    ],
)
def test_writes_are_refused_and_change_nothing(
    trino: TrinoServer, catalog: str, made: Lake, statement: str
) -> None:
    with pytest.raises(TrinoError, match="does not support"):
        trino.sql(statement.format(c=catalog, t=f"{catalog}.{made.table}"))

    assert seqs(trino, f"{catalog}.{made.table}") == list(range(6))


def test_what_is_not_there_is_said_as_of_any_catalog(trino: TrinoServer, catalog: str) -> None:
    for name, kind in {"lake.nothing": "TABLE_NOT_FOUND", "nowhere.nothing": "SCHEMA_NOT_FOUND"}.items():
        with pytest.raises(TrinoError) as told:
            trino.sql(f"SELECT * FROM {catalog}.{name}")
        assert told.value.name == kind


def test_tables_and_hot_rows_are_read_in_an_object_store(
    trino: TrinoServer, broker: KafkaBroker, store: ObjectStore, tmp_path: Path
) -> None:
    made = object_lake(broker.bootstrap, store, tmp_path)
    made = made.having(scratchLocation=f"{store.uri}/scratch-{made.topic}")
    send(made, 0, 6)
    commit_until(made, {0: 4})
    catalog = attach(
        trino,
        serve_catalog({made.table: made.merged()}),
        **{
            "fs.native-s3.enabled": "true",
            "s3.endpoint": store.endpoint,
            "s3.region": "us-east-1",
            "s3.path-style-access": "true",
            "s3.aws-access-key": store.access_key_id,
            "s3.aws-secret-key": store.secret_access_key,
        },
    )

    assert seqs(trino, f"{catalog}.{made.table}") == list(range(6))
    send(made, 6, 7)
    assert seqs(trino, f"{catalog}.{made.table}", "seq > 2") == [3, 4, 5, 6]


def test_a_user_reads_what_is_wrong_with_a_table(
    trino: TrinoServer, lake: MakeLake, broker: KafkaBroker, tmp_path: Path
) -> None:
    good, unknown = lake(partitions=1), lake(partitions=1)
    unknown.load().append(pa.table([["r"], ["p"], [1], ["t"]], schema=EVENTS))
    keyed = play("keys are deleted, and written again", tmp_path)
    merged = {**give_topic(keyed, broker.bootstrap), "merge": "auto"}
    catalog = attach(
        trino,
        serve_catalog({keyed.name: merged, good.table: good.merged(), unknown.table: unknown.merged()}),
    )

    for name, code in {unknown.table: "BOUNDARY_UNKNOWN", keyed.name: "MERGE_NEEDED"}.items():
        with pytest.raises(TrinoError) as told:
            trino.sql(f"SELECT count(*) FROM {catalog}.{name}")
        assert any(f"[{code}]" in cause for cause in told.value.causes), told.value.causes
    # The others are read, and listed with their columns.
    listed = trino.sql(f"SELECT DISTINCT table_name FROM {catalog}.information_schema.columns")
    assert seqs(trino, f"{catalog}.{good.table}") == []
    assert (good.table.partition(".")[2],) in listed.rows
