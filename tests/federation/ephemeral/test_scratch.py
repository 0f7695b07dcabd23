"""Files of ephemeral snapshots stay as long as they were promised, and then nothing of them is left.

Processes may end at any instant; whoever publishes next removes what they have left.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyiceberg.table import StaticTable

from federation.cut.take import take_cut
from federation.ephemeral import cleaning
from federation.ephemeral.publisher import EphemeralSnapshot, publish_cut
from federation.errors import FederationError
from federation.options.table_definition import merge_options
from hotset.errors import HotStoreError
from hotset.store.hot_store import StoreSettings, clear_store
from stack.java import ROOT
from tests.builders import Lake, commit_until, produce, wait_until, write_config
from tests.conftest import MakeLake

pytestmark = pytest.mark.kafka


@pytest.fixture
def made(lake: MakeLake, tmp_path: Path) -> Lake:
    """A table with some of its records cold and some hot, and a store of its own."""
    found = lake(partitions=1).having(hotStorePath=str(tmp_path / "store"))
    send(found, 0, 6)
    commit_until(found, {0: 4})
    return found


def send(lake: Lake, first: int, end: int) -> None:
    records = [{"producer": "p", "seq": seq, "run": "r"} for seq in range(first, end)]
    produce(lake.bootstrap, lake.topic, records, partition=0)


def publish(lake: Lake, **options: str) -> EphemeralSnapshot:
    return publish_cut(take_cut(lake.merged(**options)))


def seqs(found: EphemeralSnapshot) -> list[int]:
    rows = StaticTable.from_metadata(found.metadata_location).scan().to_arrow()
    return sorted(rows.column("seq").to_pylist())


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_snapshot_goes_when_its_time_is_over(made: Lake, tmp_path: Path) -> None:
    found = publish(made, ephemeralKeepMs="1500")
    assert seqs(found) == list(range(6))

    wait_until(lambda: not files(tmp_path / "store" / "ephemeral"), "the scratch space to be empty")

    # Rows that are hot stay for the next one.
    assert list((tmp_path / "store" / "logs").rglob("*.parquet"))


def test_a_scratch_space_of_its_own_is_left_empty(made: Lake, tmp_path: Path) -> None:
    scratch = tmp_path / "shared"
    found = publish(made, ephemeralKeepMs="1500", scratchLocation=str(scratch))
    assert len(list((scratch / "chunks").iterdir())) == 1
    assert seqs(found) == list(range(6))

    wait_until(lambda: not files(scratch), "the scratch space to be empty")


def test_what_is_lent_stays_though_another_is_over(made: Lake, tmp_path: Path) -> None:
    short = publish(made, ephemeralKeepMs="1500")
    long = publish(made)
    gone = Path(short.metadata_location.removeprefix("file://"))

    wait_until(lambda: not gone.exists(), "the first snapshot to go")

    assert seqs(long) == list(range(6))


def test_a_process_removes_what_an_ended_one_has_left(made: Lake, tmp_path: Path) -> None:
    config = write_config(made, tmp_path / "kafkaiceberg.toml")
    program = (
        "import sys\n"
        "from federation.cut import take_cut\n"
        "from federation.ephemeral import publish_cut\n"
        "from federation.options import load_config, merge_options\n"
        "name = sys.argv[1]\n"
        "options = merge_options(name, {'ephemeralKeepMs': '1000'}, load_config().options_of(name))\n"
        "print(publish_cut(take_cut(options)).location, flush=True)\n"
        "import os; os._exit(9)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT), "KAFKAICEBERG_CONFIG": str(config)}
    done = subprocess.run(
        [sys.executable, "-c", program, made.table],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    left = Path(done.stdout.strip().removeprefix("file://"))
    assert left.exists(), done.stderr

    def is_gone() -> bool:
        # Until its time is over nobody may remove it.
        with cleaning._lock:
            cleaning._spaces.clear()
        publish(made)
        return not left.exists()

    wait_until(is_gone, "what the other process has left to go")


def test_a_store_under_a_lease_is_not_cleared(made: Lake, tmp_path: Path) -> None:
    found = publish(made)

    assert not clear_store(StoreSettings(str(tmp_path / "store"), 1 << 30))

    assert seqs(found) == list(range(6))


def test_chunks_that_are_lent_outlive_the_commit_that_makes_them_useless(made: Lake) -> None:
    found = publish(made)
    commit_until(made)
    send(made, 6, 9)
    assert seqs(publish(made)) == list(range(9))

    assert seqs(found) == list(range(6))


def test_a_store_without_room_is_an_error_that_says_what_to_do(made: Lake) -> None:
    with pytest.raises(HotStoreError, match="raise hotStoreBytes"):
        publish(made, hotStoreBytes="1")


def test_a_cut_is_published_as_it_was_taken(made: Lake) -> None:
    taken = take_cut(made.merged())
    send(made, 6, 9)

    assert seqs(publish_cut(taken)) == list(range(6))
    assert seqs(publish(made)) == list(range(9))


def test_many_partitions_are_published_whole_however_chunks_are_cut(lake: MakeLake, tmp_path: Path) -> None:
    many = lake(partitions=3).having(hotStorePath=str(tmp_path / "many"))
    for partition in range(3):
        records = [{"producer": "p", "seq": 100 * partition + seq, "run": "r"} for seq in range(20)]
        produce(many.bootstrap, many.topic, records, partition=partition)
    wanted = [100 * partition + seq for partition in range(3) for seq in range(20)]
    assert seqs(publish(many)) == wanted

    for step, partition in enumerate((0, 1, 0, 2, 1)):
        commit_until(many, {p: 3 * step + p if p == partition else 0 for p in range(3)})
        assert seqs(publish(many)) == wanted
    chunks = len(list((tmp_path / "many" / "logs").rglob("*.parquet")))
    publish(many)
    assert len(list((tmp_path / "many" / "logs").rglob("*.parquet"))) == chunks


@pytest.mark.parametrize("name", ["my stóre", "a+b=c@d"])
def test_folders_may_have_any_name(made: Lake, tmp_path: Path, name: str) -> None:
    assert seqs(publish(made.having(hotStorePath=str(tmp_path / name)))) == list(range(6))
    assert seqs(publish(made, scratchLocation=str(tmp_path / f"{name} scratch"))) == list(range(6))


def test_a_topic_without_a_table_is_published(made: Lake) -> None:
    options = {key: value for key, value in made.options.items() if not key.startswith("catalog.")}
    alone = merge_options(made.table, {**options, "read": "hot", "schema": "producer string, seq bigint"}, {})

    assert seqs(publish_cut(take_cut(alone))) == list(range(6))


def test_a_filter_is_the_engines_own(made: Lake) -> None:
    with pytest.raises(FederationError, match="filter"):
        publish(made, filter="seq > 2")
