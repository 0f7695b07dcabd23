"""The gateway's settings: the `[gateway]` section of the configuration file.

They are declared in the same form as the options of tables and rendered into
the same page. A gateway that others can reach must ask for a token; that is
checked here, before anything listens.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from federation.engine import Limits
from federation.errors import OptionError
from federation.options import Option, OptionSet, resolve

SETTINGS: Final = OptionSet(
    "gateway setting",
    (
        Option("host", "string", "127.0.0.1", "Address to listen on; any but loopback needs a token."),
        Option("port", "integer", "8765", "Port to listen on."),
        Option("threads", "integer", "8", "Statements that run at the same time; others wait."),
        Option(
            "token",
            "string",
            None,
            "Bearer token that clients must send, as a reference such as `${env:NAME}`.",
        ),
        Option(
            "warmEveryMs",
            "integer",
            "250",
            "Milliseconds between two looks at a table with `hotStore=warm`.",
        ),
        Option(
            "lendStorageAccess",
            "boolean",
            "false",
            "Whether those who load a table of the Iceberg REST catalog are given the gateway's credentials "
            "for its files, as other such catalogs lend theirs. If not, engines bring their own.",
        ),
        Option("timeoutMs", "integer", "60000", "Milliseconds one statement may take."),
        Option("maxRows", "integer", "1000000", "Rows one result may have; a larger one is an error."),
        Option(
            "maxBytes",
            "integer",
            "268435456",
            "Bytes one result may have as Arrow; a larger one is an error.",
        ),
    ),
)


_TOKEN: Final = re.compile("[!-~]+")


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Settled settings. Invariant: without a token, `host` is loopback."""

    host: str
    port: int
    threads: int
    token: str | None = field(repr=False)
    limits: Limits
    warm_every_ms: int
    lends_storage_access: bool = False

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the gateway."""
        return is_loopback(self.host)


def parse_settings(given: Mapping[str, str]) -> GatewaySettings:
    """Settle the gateway's settings.

    Raises:
        OptionError: A setting is unknown or malformed, holds a bare secret, or
            would let strangers in.
    """
    settled = SETTINGS.check(given)
    token = resolve(settled).get("token")
    if token is not None and not _TOKEN.fullmatch(token):
        raise OptionError(
            "the gateway's token resolves to nothing, or to text with spaces, line ends or letters that no "
            "header can carry; set it to printable ASCII without spaces",
            option="token",
        )
    host = SETTINGS.text_of(settled, "host")
    if "token" not in settled and not is_loopback(host):
        raise OptionError(
            f"the gateway would listen on {host} for anyone; set 'token' in [gateway], or listen on "
            "127.0.0.1",
            option="host",
        )
    return GatewaySettings(
        host=host,
        port=SETTINGS.integer_of(settled, "port"),
        threads=SETTINGS.integer_of(settled, "threads"),
        token=token,
        limits=Limits(
            timeout_ms=SETTINGS.integer_of(settled, "timeoutMs"),
            max_rows=SETTINGS.integer_of(settled, "maxRows"),
            max_bytes=SETTINGS.integer_of(settled, "maxBytes"),
        ),
        warm_every_ms=SETTINGS.integer_of(settled, "warmEveryMs"),
        lends_storage_access=SETTINGS.value_of(settled, "lendStorageAccess") == "true",
    )


def is_loopback(host: str) -> bool:
    """Return True if only this machine is meant by a host name or address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
