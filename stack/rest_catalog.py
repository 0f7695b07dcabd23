"""An Iceberg REST catalog: the reference server of Apache Iceberg's own tests, over SQLite.

Catalogs that answer over HTTP fail in ways that a file cannot, so freezes are tested against a real
one, behind the proxy of `stack.catalog_proxy`. It must not know tables or commits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Self

from stack.java import class_path, java_executable
from stack.objects import ObjectStore
from stack.ports import HOST, free_port
from stack.process import ManagedProcess
from stack.stoppable import Stoppable
from stack.waiting import is_answered

START_DEADLINE_S: Final = 60.0


class RestCatalog(Stoppable):
    """A running catalog server, which ends when this process ends."""

    def __init__(self, process: ManagedProcess, port: int) -> None:
        """Hold a started server; use `start`."""
        self.process = process
        self.port = port
        self.uri = f"http://{HOST}:{port}"

    @classmethod
    def start(
        cls, directory: Path, *, store: ObjectStore | None = None, deadline_s: float = START_DEADLINE_S
    ) -> Self:
        """Start a catalog and wait until it answers.

        Args:
            directory: Holds its log, its SQLite file and the warehouse; that of an earlier catalog
                brings back its tables.
            store: Holds the warehouse instead; the server tells nobody how to reach it.
            deadline_s: How long it may take to answer.

        Raises:
            StackError: Java or the jars are missing, or the server ended or was late.
        """
        directory = directory.resolve()
        (directory / "warehouse").mkdir(parents=True, exist_ok=True)
        port = free_port()
        settings = {
            "CATALOG_CATALOG__IMPL": "org.apache.iceberg.jdbc.JdbcCatalog",
            "CATALOG_URI": f"jdbc:sqlite:{directory / 'catalog.db'}?busy_timeout=60000",
            "CATALOG_WAREHOUSE": (directory / "warehouse").as_uri(),
            "CATALOG_REST_PORT": str(port),
        }
        if store is not None:
            settings |= {
                "CATALOG_WAREHOUSE": store.uri,
                "CATALOG_IO__IMPL": "org.apache.iceberg.aws.s3.S3FileIO",
                "CATALOG_S3_ENDPOINT": store.endpoint,
                "CATALOG_S3_ACCESS__KEY__ID": store.access_key_id,
                "CATALOG_S3_SECRET__ACCESS__KEY": store.secret_access_key,
                "CATALOG_S3_PATH__STYLE__ACCESS": "true",
                "CATALOG_CLIENT_REGION": "us-east-1",
            }
        process = ManagedProcess.start(
            [
                java_executable(), "-Xmx256m", "-cp", class_path("rest-catalog"),
                "org.apache.iceberg.rest.RESTCatalogServer",
            ],
            directory / "catalog.log",
            settings,
            cwd=directory,
        )  # fmt: skip
        started = cls(process, port)
        process.await_start(started.answers, deadline_s)
        return started

    def answers(self) -> bool:
        """Whether the server tells clients its configuration."""
        return is_answered(f"{self.uri}/v1/config")

    def stop(self) -> None:
        """Stop the server."""
        self.process.stop(5)
