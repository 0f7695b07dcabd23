"""`make demo`: starts everything on this machine, shows the main claim, and leaves nothing behind.

It starts real services only and puts them in front of a person: Kafka, a table, a stream of orders,
a freeze every minute, the gateway, and a Spark session. It must not reach into the packages that it
shows; all of them run as a user runs them. What is said about them is in `stack.story`.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

from stack.errors import StackError
from stack.java import ROOT, SHORT_LIVED
from stack.terminal import say, step

if TYPE_CHECKING:
    from stack.gateway import Gateway
    from stack.orders import OrderStream
    from stack.process import ManagedProcess

RATE_PER_S: Final = 100.0
FREEZE_EVERY: Final = "60s"
READY_DEADLINE_S: Final = 180.0

# Everything a demo leaves in its folder, and so everything the next one removes.
MADE: Final = (
    "broker",
    "catalog.db",
    "catalog.db-journal",
    "freeze.log",
    "gateway.log",
    "kafkaiceberg.toml",
    "notebook.log",
    "questions",
    "spark-warehouse",
    "warehouse",
)


@dataclass(slots=True)
class Demo:
    """All that runs. Invariant: what has been started is in `stops`, and is stopped by `close`."""

    folder: Path
    bootstrap: str
    orders: OrderStream
    gateway: Gateway
    freezer: ManagedProcess
    notebook: ManagedProcess
    questions: Path

    def freezes(self) -> list[str]:
        """Return what the freeze job has said about each commit so far.

        Raises:
            StackError: The job has ended.
        """
        said = [line for line in self.freezer.log_text().splitlines() if " rows in " in line]
        for name, process in (
            ("the freeze job", self.freezer),
            ("the gateway", self.gateway.process),
            ("the notebook", self.notebook),
        ):
            if not process.is_running:
                raise StackError(f"{name} has ended\n{process.log_tail()}")
        return said


@dataclass(slots=True)
class Cleanup:
    """What has to be ended, in the opposite order of its start; one group ends at the same time."""

    groups: list[list[Callable[[], object]]] = field(default_factory=list)

    def add(self, *stops: Callable[[], object]) -> None:
        """Note how to end something that has just been started."""
        self.groups.append(list(stops))

    def run(self) -> None:
        """End everything; one that fails to end does not keep the others."""
        for group in reversed(self.groups):
            with ThreadPoolExecutor(max_workers=len(group)) as pool:
                for ended in [pool.submit(stop) for stop in group]:
                    with contextlib.suppress(Exception):
                        ended.result()
        self.groups.clear()


def main(arguments: list[str] | None = None) -> int:
    """Run the demo and return its exit code: 0, 1 if a claim did not hold, 130 if cut short.

    Raises:
        SystemExit: From argparse.
    """
    parser = argparse.ArgumentParser(prog="python -m stack.demo", description="Show kafkaiceberg at work.")
    parser.add_argument("--once", action="store_true", help="show, check, and end (or set ONCE=1)")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "demo", help="where its files go")
    parsed = parser.parse_args(arguments)
    once = parsed.once or os.environ.get("ONCE", "") not in ("", "0")
    os.environ.setdefault("JDK_JAVA_OPTIONS", SHORT_LIVED)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        return _run(parsed.folder.resolve(), once=once)
    finally:
        _await_children()


def _run(folder: Path, *, once: bool) -> int:
    cleanup = Cleanup()
    try:
        with _only_one(folder):
            try:
                return _show(folder, cleanup, once=once)
            finally:
                _ignore_signals()
                with contextlib.suppress(OSError), step("stopping"):
                    cleanup.run()
                cleanup.run()  # Nothing is left to do, unless nobody reads what is said.
    except KeyboardInterrupt:
        with contextlib.suppress(OSError):
            say("stopped")
        return 130 if once else 0
    except BrokenPipeError:
        # Nobody reads; let the interpreter's last flush fail in silence.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0 if not once else 1
    except StackError as exc:
        sys.stderr.write(f"\nThe demo cannot go on: {exc}\n")
        return 1


def _show(folder: Path, cleanup: Cleanup, *, once: bool) -> int:
    began_s = time.monotonic()
    say("kafkaiceberg: a Kafka topic and its Iceberg table, queried as one table.\n")
    demo = start(folder, cleanup)
    say(f"  everything runs after {time.monotonic() - began_s:.0f} s\n")
    from stack.story import go_on, show_address, tell

    is_true = tell(demo)
    if once:
        say("All claims hold." if is_true else "NOT all claims hold.")
        return 0 if is_true else 1
    show_address(demo)
    go_on(demo)
    return 0


def start(folder: Path, cleanup: Cleanup) -> Demo:
    """Start all services in a fresh folder; what takes longest starts first and is awaited last.

    Args:
        folder: Where state and logs go.
        cleanup: Told how to end each service.

    Returns:
        The running services, with the first freeze done.

    Raises:
        StackError: A service did not start.
    """
    # Imported here, so that a Ctrl-C meets as little unguarded code as possible.
    from stack.gateway import Gateway, choose_port, local_catalog, run_python, write_config
    from stack.kafka import KafkaBroker
    from stack.orders import PARTITIONS, TABLE, TOPIC, OrderStream, create_table, create_topic

    with step("Kafka broker") as current:
        broker = KafkaBroker.start(folder / "broker")
        cleanup.add(broker.stop)
        current.result = f"{broker.bootstrap}, one node, KRaft"
    questions = folder / "questions"
    os.mkfifo(questions, 0o600)
    # Held open for both directions: the notebook then waits for lines, and sees an end with ours.
    pipe = os.open(questions, os.O_RDWR | os.O_CLOEXEC)
    with step("topic and table") as current:
        create_topic(broker.bootstrap)
        catalog = local_catalog(folder)
        config = write_config(folder, broker.bootstrap, catalog, choose_port())
        create_table(catalog)
        current.result = f"topic {TOPIC} with {PARTITIONS} partitions, Iceberg table {TABLE}"
    with step("stream of orders") as current:
        orders = OrderStream.start(broker.bootstrap, RATE_PER_S)
        cleanup.add(orders.stop)
        current.result = f"{RATE_PER_S:.0f} a second"
    freezer = run_python(["-m", "kafkaiceberg", "freeze", TABLE, "--every", FREEZE_EVERY], folder, "freeze")
    stops: list[Callable[[], object]] = [lambda: freezer.stop(3)]
    cleanup.add(lambda: os.close(pipe))
    cleanup.groups.append(stops)
    with step("gateway") as current:
        gateway = Gateway.start(folder)
        stops.append(gateway.stop)
        gateway.ask(f"SELECT count(*) FROM {TABLE}")  # The first query of a process opens connections.
        current.result = f"{gateway.address}, reads {config.relative_to(folder.parent)}"
    program = str(Path(__file__).with_name("notebook.py"))
    notebook = run_python([program, broker.bootstrap, str(questions)], folder, "notebook")
    stops.append(lambda: notebook.stop(3))
    demo = Demo(folder, broker.bootstrap, orders, gateway, freezer, notebook, questions)
    with step(f"first freeze (one every {FREEZE_EVERY})") as current:
        freezer.wait_for(lambda: bool(demo.freezes()), READY_DEADLINE_S)
        current.result = demo.freezes()[0]
    return demo


@contextlib.contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Hold the folder for this process, and empty it of what an earlier demo left there."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise StackError(f"another demo runs in {folder}; stop it, or choose --folder") from exc
        for name in MADE:
            path = folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        yield


def _await_children(deadline_s: float = 5.0) -> None:
    """Wait for a program whose start was cut short: its guard ends it, now that nobody holds it."""
    until_s = time.monotonic() + deadline_s
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < until_s:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.02)


def _stop(_number: int, _frame: FrameType | None) -> None:
    _ignore_signals()
    raise KeyboardInterrupt


def _ignore_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
