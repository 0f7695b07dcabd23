"""Throw-away certificates, made by the `keytool` that every Java brings.

A broker needs a key store per certificate, and its clients the authority's certificate as a file.
Private keys live in the folder that is asked for and nowhere else. It must not know what Kafka is.
"""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from stack.errors import StackError
from stack.java import java_executable

TOOL_S = 60.0


@dataclass(frozen=True, slots=True)
class Certificates:
    """An authority and the key stores it has signed; `authority` is the file that clients trust."""

    directory: Path
    password: str

    @classmethod
    def make(cls, directory: Path, leaves: Mapping[str, tuple[str, str]]) -> Self:
        """Make an authority and one signed key store per name.

        Args:
            directory: Where the files go.
            leaves: Per name whom the certificate is for (`ip:127.0.0.1`, `dns:…`) and since when it
                is valid, for one week (`-1d`).

        Raises:
            StackError: `keytool` is missing or refuses.
        """
        directory.mkdir(parents=True, exist_ok=True)
        made = cls(directory, secrets.token_hex(16))
        made._new_key("authority", "-ext", "bc=ca:true", "-validity", "30")
        made._keytool("-exportcert", "-alias", "authority", "-rfc", "-file", made.authority, *made._all)
        for name, (subject, since) in leaves.items():
            signed = ("-signer", "authority", "-ext", f"san={subject}")
            made._new_key(name, *signed, "-startdate", since, "-validity", "7")
            # A server with several keys in its store may show any of them.
            made._keytool(
                "-importkeystore", "-srcalias", name,
                "-srckeystore", made.store("all"), "-srcstorepass", made.password,
                "-destkeystore", made.store(name), "-deststorepass", made.password,
            )  # fmt: skip
        return made

    @property
    def authority(self) -> Path:
        """The authority's own certificate, in PEM."""
        return self.directory / "authority.pem"

    def store(self, name: str) -> Path:
        """Return the key store (PKCS12) of one name."""
        return self.directory / f"{name}.p12"

    @property
    def _all(self) -> tuple[str | Path, ...]:
        return ("-keystore", self.store("all"), "-storepass", self.password)

    def _new_key(self, name: str, *arguments: str) -> None:
        self._keytool(
            "-genkeypair", "-alias", name, "-keyalg", "EC", "-groupname", "secp256r1",
            "-dname", f"CN={name}", *arguments, *self._all,
        )  # fmt: skip

    def _keytool(self, *arguments: str | Path) -> None:
        keytool = Path(java_executable()).resolve().with_name("keytool")
        command = [str(part) for part in (keytool, *arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TOOL_S)
        if done.returncode != 0:
            raise StackError(f"keytool {arguments[0]} failed: {done.stdout}{done.stderr}")
