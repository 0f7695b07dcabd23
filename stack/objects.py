"""An S3-compatible object store: S3Proxy over a folder, which checks signatures as Amazon does.

Files of a table behave differently where they are objects: there are no folders, every request is
signed, and the store can be gone while the catalog is there. It must not know what the objects are.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final, Self

from stack.java import class_path, java_executable
from stack.ports import HOST, free_port
from stack.process import ManagedProcess
from stack.stoppable import Stoppable

START_DEADLINE_S: Final = 60.0
ACCESS_KEY_ID: Final = "reader"
SECRET_ACCESS_KEY: Final = "of-the-object-store"  # noqa: S105 - of a server of this machine only
LOGGING: Final = Path(__file__).with_name("jars") / "objects.logback.xml"


class ObjectStore(Stoppable):
    """A running object store with one bucket, which ends when this process ends.

    Attributes:
        endpoint: Where it answers.
        bucket: The name of its bucket.
        folder: Where the objects of the bucket lie as files.
        access_key_id: Who may ask.
        secret_access_key: By which it is known who asks.
    """

    def __init__(self, process: ManagedProcess, port: int, folder: Path) -> None:
        """Hold a started server; use `start`."""
        self.process = process
        self.port = port
        self.endpoint = f"http://{HOST}:{port}"
        self.folder = folder
        self.bucket = folder.name
        self.access_key_id = ACCESS_KEY_ID
        self.secret_access_key = SECRET_ACCESS_KEY

    @classmethod
    def start(cls, directory: Path, *, deadline_s: float = START_DEADLINE_S) -> Self:
        """Start a store and wait until it answers.

        Args:
            directory: Holds its log and its objects; that of an earlier store brings back its objects.
            deadline_s: How long it may take to answer.

        Raises:
            StackError: Java or the jars are missing, or the server ended or was late.
        """
        directory = directory.resolve()
        folder = directory / "objects" / "warehouse"
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        properties = directory / "objects.properties"
        settings = {
            "s3proxy.endpoint": f"http://{HOST}:{port}",
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.identity": ACCESS_KEY_ID,
            "s3proxy.credential": SECRET_ACCESS_KEY,
            # Among them the one with a session's token, which comes with credentials that are lent.
            "s3proxy.ignore-unknown-headers": "true",
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(folder.parent),
        }
        lines = [f"{name}={value}" for name, value in settings.items()]
        properties.write_text("\n".join(lines) + "\n", encoding="utf-8")
        process = ManagedProcess.start(
            [
                java_executable(), "-Xmx256m", "-XX:TieredStopAtLevel=1",
                f"-Dlogback.configurationFile={LOGGING}", "-cp", class_path("objects"),
                "org.gaul.s3proxy.Main", "--properties", properties,
            ],
            directory / "objects.log",
            cwd=directory,
        )  # fmt: skip
        started = cls(process, port, folder)
        process.await_start(started.answers, deadline_s)
        return started

    @property
    def uri(self) -> str:
        """Where a warehouse may be."""
        return f"s3://{self.bucket}"

    def answers(self) -> bool:
        """Whether somebody listens where the store is asked."""
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self.port)) == 0

    def stop(self) -> None:
        """Stop the server; its objects stay."""
        self.process.resume()
        self.process.stop(5)
