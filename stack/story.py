"""What the demo shows, step by step, and whether each step is true.

It asks over HTTP and in a notebook, as anyone could, and compares the answers with what Kafka
acknowledged. It must not start or stop anything, and must not soften a claim that fails.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

from stack.notebook import ANSWER, READY
from stack.orders import TABLE, Acknowledged, order
from stack.terminal import receipt_text, say, step, table

if TYPE_CHECKING:
    from stack.demo import Demo
    from stack.gateway import Reply

ORDER_ID: Final = 7_000_000_001
ANSWER_DEADLINE_S: Final = 120.0
READY_DEADLINE_S: Final = 180.0
FREEZE_DEADLINE_S: Final = 150.0
PULSE_S: Final = 5.0
ATTEMPTS: Final = 3
LOOK_WITHIN_S: Final = 30.0


class Claims:
    """Counts claims; each is said aloud with its outcome."""

    def __init__(self) -> None:
        self.all_true = True

    def check(self, claim: str, is_true: bool) -> None:  # noqa: FBT001
        """Say a claim, and whether it holds.

        Raises:
            BrokenPipeError: Nobody reads any more.
        """
        self.all_true = self.all_true and is_true
        say(f"   {'ok ' if is_true else 'NOT TRUE:'} {claim}")


def tell(demo: Demo) -> bool:
    """Tell the whole story once and return whether all of it is true.

    Raises:
        StackError: A service failed or was late.
    """
    claims = Claims()
    freezes = _freezes_with_time_to_look(demo)
    say(f"1. An order is produced. Kafka acknowledges it; the next freeze is up to {_every()} away.\n")
    record = {**order(ORDER_ID), "customer": "you"}
    ack = demo.orders.send(record)
    say(f"     {json.dumps(record)}")
    say(f"   acknowledged after {ack.elapsed_ms:.0f} ms: partition {ack.partition}, offset {ack.offset}\n")

    say("2. The next SQL query has it, and no commit does.\n")
    hot = _ask_for_it(demo, ack, claims)
    committed = hot.partition(ack.partition)["committed"]
    claims.check(
        f"the table is committed up to offset {committed}, the order is at {ack.offset}: it is hot",
        committed <= ack.offset < hot.partition(ack.partition)["end"],
    )

    say("\n3. Spark has it too, by the same table's name.\n")
    _show_spark(demo, hot, claims)

    say("\n4. Nothing is missing and nothing is there twice.\n")
    _show_count(demo, claims)

    say("\n5. The next freeze moves the order into the table. Queries do not notice.\n")
    _await_freeze(demo, freezes)
    cold = _ask_for_it(demo, ack, claims)
    committed = cold.partition(ack.partition)["committed"]
    claims.check(
        f"the table is now committed up to offset {committed}: the order is cold, and still there once",
        ack.offset < committed,
    )
    claims.check("the snapshot is a newer one", cold.table["snapshot_id"] != hot.table["snapshot_id"])
    say()
    _show_count(demo, claims)
    say()
    return claims.all_true


def _freezes_with_time_to_look(demo: Demo) -> int:
    """Return how many freezes there were, once the next one is not about to come."""
    freezes = len(demo.freezes())
    if time.time() - demo.freezer.log_path.stat().st_mtime > LOOK_WITHIN_S:
        with step("waiting for the next freeze, for a minute without one after it"):
            demo.freezer.wait_for(lambda: len(demo.freezes()) > freezes, FREEZE_DEADLINE_S)
        say()
    return len(demo.freezes())


def _every() -> str:
    from stack.demo import FREEZE_EVERY

    return FREEZE_EVERY


def _ask(demo: Demo, sql: str) -> Reply:
    say(f"     {sql}\n")
    reply = demo.gateway.ask(sql)
    say(table(reply.columns, reply.rows) + "\n")
    return reply


def _ask_for_it(demo: Demo, ack: Acknowledged, claims: Claims) -> Reply:
    asked_s = time.monotonic()
    reply = _ask(demo, f"SELECT order_id, customer, amount FROM {TABLE} WHERE order_id = {ORDER_ID}")
    since_ms = (asked_s - ack.at_s) * 1000 + reply.elapsed_ms
    say(receipt_text(reply.table, {ack.partition: f"the order is at offset {ack.offset}"}) + "\n")
    claims.check(
        f"the first answer, {since_ms:.0f} ms after the acknowledgement, has the order exactly once "
        f"(query: {reply.elapsed_ms:.0f} ms)"
        if since_ms < 5000
        else f"the answer has the order exactly once (query: {reply.elapsed_ms:.0f} ms)",
        len(reply.rows) == 1 and reply.rows[0][:2] == (ORDER_ID, "you"),
    )
    return reply


def _show_spark(demo: Demo, hot: Reply, claims: Claims) -> None:
    number = ORDER_ID
    say('     orders = spark.read.format("kafkaiceberg") \\')
    say(f'         .option("kafka.bootstrap.servers", "{demo.bootstrap}").load("{TABLE}")')
    say("     orders.where(orders.order_id == number).select('order_id', 'customer', 'amount')\n")
    with step(" a notebook starts its Spark session"):
        demo.notebook.wait_for(f"^{READY}$", READY_DEADLINE_S)
    before = hot.table["snapshot_id"]
    for attempt in range(ATTEMPTS):
        if attempt:
            say("   A freeze came in between, so this showed nothing; again, with another order.\n")
            number += 1
            before = _snapshot(demo)
            demo.orders.send({**order(number), "customer": "you"})
        with step(" load() and collect()") as current:
            answer = _ask_notebook(demo, number, attempt)
            current.result = f"{answer['elapsed_ms']:.0f} ms in the notebook"
        after = _snapshot(demo)
        if before == after:
            break
    rows = answer["rows"]
    say("\n" + table(("order_id", "customer", "amount"), [list(row.values()) for row in rows]) + "\n")
    claims.check("Spark finds the order exactly once", len(rows) == 1 and rows[0]["order_id"] == number)
    claims.check(f"nothing was committed meanwhile: {after} is still the snapshot", after == before)


def _snapshot(demo: Demo) -> Any:
    return demo.gateway.ask(f"SELECT count(*) FROM {TABLE}").table["snapshot_id"]


def _ask_notebook(demo: Demo, number: int, asked_before: int) -> dict[str, Any]:
    def answers() -> list[str]:
        return [x for x in demo.notebook.log_text().splitlines() if x.startswith(ANSWER)]

    with demo.questions.open("w", encoding="utf-8") as pipe:
        pipe.write(f"{number}\n")
    demo.notebook.wait_for(lambda: len(answers()) > asked_before, ANSWER_DEADLINE_S)
    answer: dict[str, Any] = json.loads(answers()[-1].removeprefix(ANSWER))
    return answer


def _show_count(demo: Demo, claims: Claims) -> None:
    before = demo.orders.acknowledged()
    reply = _ask(demo, f"SELECT count(*) AS orders, count(DISTINCT order_id) AS numbers FROM {TABLE}")
    count, distinct = reply.rows[0]
    ends = {p["partition"]: p["end"] for p in reply.table["partitions"]}
    # Some of what the cut has may be acknowledged a moment after it.
    until_s = time.monotonic() + 10
    while time.monotonic() < until_s and any(
        demo.orders.acknowledged().get(p, 0) < end for p, end in ends.items()
    ):
        time.sleep(0.02)
    after = demo.orders.acknowledged()
    at_cut = sum(min(end, after.get(p, 0)) for p, end in ends.items())
    claims.check(f"{count} rows = {at_cut} acknowledged records at the cut", count == at_cut)
    claims.check(f"{distinct} different orders, so none is there twice", count == distinct)
    claims.check(
        f"all {sum(before.values())} records acknowledged before the query are in it",
        all(ends.get(p, 0) >= acknowledged for p, acknowledged in before.items()),
    )


def _await_freeze(demo: Demo, freezes: int) -> None:
    until_s = time.monotonic() + FREEZE_DEADLINE_S
    while len(demo.freezes()) <= freezes:
        if time.monotonic() > until_s:
            break
        _pulse(demo)
        wake_s = time.monotonic() + PULSE_S
        while time.monotonic() < wake_s and len(demo.freezes()) <= freezes:
            time.sleep(0.1)
    for line in demo.freezes()[freezes:]:
        say(f"   froze {line}\n")


def _pulse(demo: Demo) -> None:
    reply = demo.gateway.ask(f"SELECT count(*) FROM {TABLE}")
    age = reply.table["newest_age_ms"]
    newest = "none hot" if age is None else f"{age} ms old"
    say(
        f"   {reply.rows[0][0]:>8} orders = {reply.table['rows_cold']:>8} cold + "
        f"{reply.table['rows_hot']:>6} hot, newest {newest}, answered in {reply.elapsed_ms:.0f} ms"
    )


def show_address(demo: Demo) -> None:
    """Say where the gateway is and what to try.

    Raises:
        BrokenPipeError: Nobody reads any more.
    """
    config = demo.folder / "kafkaiceberg.toml"
    say(f"The gateway is at {demo.gateway.address}. In another terminal, try:\n")
    say(f"  curl '{demo.gateway.address}/v1/sql?q=SELECT+count(*),max(placed_at)+FROM+{TABLE}'")
    say(f"  curl '{demo.gateway.address}/v1/tables/{TABLE}/freshness'")
    sql = f"SELECT region, count(*), round(sum(amount)) FROM {TABLE} GROUP BY ALL ORDER BY 1"
    say(f"  .venv/bin/kafkaiceberg --config {config} query '{sql}'\n")
    say(f"Kafka is at {demo.bootstrap}; logs are in {demo.folder}. Ctrl-C ends everything.\n")


def go_on(demo: Demo) -> None:
    """Say every few seconds how fresh the table is, and what was frozen, until stopped.

    Raises:
        StackError: A service failed.
    """
    frozen = len(demo.freezes())
    while True:
        _pulse(demo)
        time.sleep(PULSE_S)
        demo.orders.acknowledged()  # Raises if Kafka has refused a record.
        said = demo.freezes()
        for line in said[frozen:]:
            say(f"   froze {line}")
        frozen = len(said)
