"""The command line: `kafkaiceberg query | cut | doctor | adopt | freeze | serve`.

Arguments are parsed here and answers printed; everything else is done by the
packages below. Exit codes: 0 done, 2 the caller's mistake, 3 a service in the
way, 1 ours; `doctor` adds 10 for warnings and 11 for errors.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from federation.errors import BoundaryUnknownError, OptionError
from federation.options import Config, load_config, merge_options
from foundation.errors import KafkaIcebergError
from foundation.extras import require_extra
from kafkaiceberg.adopt import add_adopt, adopt_table
from kafkaiceberg.doctor import EXIT, add_doctor, parse_look_back, render_report, repair_table
from kafkaiceberg.render import render_answer, render_cut, render_looked, render_version

_EXIT: Final = {"user": 2, "external": 3, "internal": 1}
_DURATION: Final = re.compile(r"(\d+)(ms|s|m|h)")
_UNIT_S: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Raises:
        SystemExit: From argparse, for malformed arguments (2) and `--help` (0).
    """
    parsed = _parser().parse_args(arguments)
    logging.basicConfig(
        level=logging.INFO if parsed.verbose else logging.WARNING, format="%(name)s %(message)s"
    )
    try:
        return int(parsed.run(parsed))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0
    except KafkaIcebergError as exc:
        print(f"error [{exc.code}]: {exc}", file=sys.stderr)
        return _EXIT[exc.kind]
    except OSError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 1


class _Version(argparse.Action):
    """Looks for the native reader only when it is asked for."""

    def __call__(self, *_: object) -> None:
        print(render_version())
        sys.exit(0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kafkaiceberg",
        description="Query a Kafka topic and the Iceberg table it fills as one table, each record "
        "exactly once.",
        epilog="Tables and options come from kafkaiceberg.toml in the working directory, or the file "
        "named by KAFKAICEBERG_CONFIG or --config. OPTIONS.md lists all options.",
    )
    parser.add_argument("--config", metavar="FILE", help="the configuration file")
    parser.add_argument(
        "--version", action=_Version, nargs=0, help="print the version, and how records are read"
    )
    parser.add_argument("--verbose", action="store_true", help="log what is done")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_query(commands)
    _add_cut(commands)
    _add_options(add_doctor(commands, _doctor))
    _add_options(add_adopt(commands, _adopt))
    _add_freeze(commands)
    serve = commands.add_parser(
        "serve",
        help="serve SQL over HTTP",
        description="Serve SQL over HTTP for the tables of the configuration file, until stopped. "
        "Try: curl 'http://127.0.0.1:8765/v1/sql?q=SELECT+1'",
    )
    serve.add_argument("--port", metavar="N", help="port to listen on (default: the file's, or 8765)")
    serve.set_defaults(run=_serve)
    docs = commands.add_parser(
        "docs", help="render OPTIONS.md, ERRORS.md and DOCTOR.md", description="Render the reference pages."
    )
    docs.add_argument("--into", default=".", metavar="FOLDER", help="where the pages go (default: here)")
    docs.set_defaults(run=_docs)
    return parser


def _add_query(commands: Any) -> None:
    query = commands.add_parser(
        "query",
        help="run one SELECT",
        description="Run one SELECT over the tables of the configuration file and print the rows, with the "
        "receipt of the answer under them. Example: kafkaiceberg query 'SELECT count(*) FROM lake.orders'",
    )
    query.add_argument("sql", help="the statement")
    query.add_argument("--json", action="store_true", help="print JSON, as the gateway does")
    query.add_argument(
        "--cut", action="append", default=[], metavar="TABLE=TOKEN", help="read a table at an earlier cut"
    )
    _add_options(query)
    query.set_defaults(run=_query)


def _add_cut(commands: Any) -> None:
    cut = commands.add_parser(
        "cut",
        help="take the cut of a table",
        description="Take the cut of a table now: what the snapshot holds, what Kafka holds beyond it, and "
        "the token with which exactly this can be read again.",
    )
    cut.add_argument("table", help="namespace.name")
    cut.add_argument("--json", action="store_true", help="print JSON")
    cut.add_argument(
        "--explain",
        action="store_true",
        help="tell what was looked at to find what is committed, and why it was chosen",
    )
    _add_options(cut)
    cut.set_defaults(run=_cut)


def _add_freeze(commands: Any) -> None:
    freeze = commands.add_parser(
        "freeze",
        help="move hot records into the table",
        description="Move the records that are hot now into the table with one commit, on Spark; with "
        "--every, again and again. Any number of these may run: each record lands once.",
    )
    freeze.add_argument("table", help="namespace.name")
    freeze.add_argument("--every", metavar="TIME", help="repeat, for example every 60s, 5m")
    freeze.add_argument("--master", default="local[2]", help="Spark master (default: %(default)s)")
    _add_options(freeze)
    freeze.set_defaults(run=_freeze)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--option", action="append", default=[], metavar="NAME=VALUE", help="an option of OPTIONS.md"
    )


def _query(parsed: argparse.Namespace) -> int:
    from federation.engine import run_query
    from sql_gateway.protocol import render_json

    config = load_config(parsed.config)
    cuts = _pairs(parsed.cut)
    options = _pairs(parsed.option)
    tables = {
        name: merge_options(
            name, {**options, "cut": cuts[name]} if name in cuts else options, config.options_of(name)
        )
        for name in {*config.tables, *cuts}
    }
    answer = run_query(parsed.sql, tables)
    print(render_json(answer, "") if parsed.json else render_answer(answer))
    return 0


def _cut(parsed: argparse.Namespace) -> int:
    from federation.cut import take_cut
    from federation.receipt import build_receipt

    try:
        taken = take_cut(_options_of(parsed))
    except BoundaryUnknownError as exc:
        if parsed.explain:
            print(render_looked(exc))
        raise
    if parsed.json:
        receipt = build_receipt(taken, stages_ms={}).to_dict()
        looked = list(taken.committed.looked) if taken.committed else []
        print(json.dumps(receipt | ({"looked": looked} if parsed.explain else {})))
    else:
        print(render_cut(taken, explains=parsed.explain))
    return 0


def _doctor(parsed: argparse.Namespace) -> int:
    from federation.doctor import examine

    if parsed.repair:
        print(repair_table(_options_of(parsed), is_meant=parsed.yes))
        return 0
    report = examine(
        _options_of(parsed),
        look_back=parse_look_back(parsed.look_back),
        warn_within_ms=round(_seconds(parsed.warn_within) * 1000),
    )
    print(json.dumps(report.to_dict()) if parsed.json else render_report(report))
    return EXIT[report.worst]


def _adopt(parsed: argparse.Namespace) -> int:
    print(adopt_table(_options_of(parsed), parsed.start))
    return 0


def _freeze(parsed: argparse.Namespace) -> int:
    require_extra("spark", "kafkaiceberg freeze")
    from kafkaiceberg.render import render_left_out
    from pipeline.freeze import freeze_once
    from pipeline.session import open_session

    options = _options_of(parsed)
    every_s = None if parsed.every is None else _seconds(parsed.every)
    stopped = _stop_on_signals()
    spark = open_session(f"kafkaiceberg freeze {parsed.table}", parsed.master)
    try:
        while True:
            began_s = time.monotonic()
            try:
                done = freeze_once(spark, options)
                print(
                    f"{done.table}: {done.rows} rows in {done.files} files into snapshot {done.snapshot_id}, "
                    f"{done.elapsed_ms:.0f} ms",
                    flush=True,
                )
                for line in render_left_out(done.left_out):
                    print(f"  {line}", flush=True)
            except KafkaIcebergError as exc:
                # What may go away by itself is tried again; what may not ends the job.
                if every_s is None or exc.kind != "external":
                    raise
                print(f"warning [{exc.code}]: {exc}", file=sys.stderr, flush=True)
            if every_s is None or stopped.wait(max(0.0, every_s - (time.monotonic() - began_s))):
                return 0
    finally:
        spark.stop()


def _serve(parsed: argparse.Namespace) -> int:
    require_extra("gateway", "kafkaiceberg serve")
    from sql_gateway.serve import serve
    from sql_gateway.settings import parse_settings

    config = load_config(parsed.config)
    given = {**config.gateway, **({} if parsed.port is None else {"port": parsed.port})}
    if not config.tables:
        raise OptionError(
            'no tables are configured; name them in kafkaiceberg.toml as [tables."namespace.name"]'
        )
    serve(config, parse_settings(given), lambda address: print(f"serving at {address}", flush=True))
    return 0


def _docs(parsed: argparse.Namespace) -> int:
    from kafkaiceberg.docs import pages

    for name, text in pages().items():
        Path(parsed.into, name).write_text(text, encoding="utf-8")
        print(f"rendered {name}")
    return 0


def _options_of(parsed: argparse.Namespace) -> dict[str, str]:
    config: Config = load_config(parsed.config)
    return merge_options(parsed.table, _pairs(parsed.option), config.options_of(parsed.table))


def _pairs(texts: Sequence[str]) -> Mapping[str, str]:
    for text in texts:
        if "=" not in text:
            raise OptionError(f"{text!r} is not of the form NAME=VALUE")
    return dict(text.split("=", 1) for text in texts)


def _seconds(text: str) -> float:
    match = _DURATION.fullmatch(text)
    if match is None or int(match.group(1)) == 0:
        raise OptionError(f"{text!r} is not a length of time such as 500ms, 60s, 5m or 1h")
    return int(match.group(1)) * _UNIT_S[match.group(2)]


def _stop_on_signals() -> threading.Event:
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    return stopped


if __name__ == "__main__":
    sys.exit(main())
