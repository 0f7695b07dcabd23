"""Where a schema registry is, and how it knows us: an allow-list, as for Kafka's properties.

Names and meanings are those of Confluent's clients, without their prefix
`schema.registry.`. Values are resolved already, so nothing here may repeat one
in a message or a text. This file opens no connection.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from hotset.errors import RegistryConfigError

SECRET_REGISTRY_PROPERTIES: Final = frozenset(
    {"basic.auth.user.info", "bearer.auth.token", "ssl.key.password"}
)
ALLOWED: Final = frozenset(
    {
        *SECRET_REGISTRY_PROPERTIES,
        "request.timeout.ms",
        "ssl.ca.location",
        "ssl.certificate.location",
        "ssl.key.location",
        "url",
    }
)
_PREFIX: Final = "schema.registry."
_TIMEOUT_MS: Final = 10_000
_PORT: Final = {"http": 80, "https": 443}
_NOT_IN_A_HEADER: Final = re.compile(r"[^\x21-\x7e]")


@dataclass(frozen=True, slots=True)
class Address:
    """One server of a registry."""

    scheme: str
    host: str
    port: int
    path: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """A registry, as a client needs it.

    Attributes:
        addresses: Tried in order; any of them may answer.
        authorization: The header of that name, or None.
        context: Whom to trust over https, and who we are; None if no address has it.
        timeout_ms: Milliseconds for one schema with all it refers to.
    """

    addresses: tuple[Address, ...]
    authorization: str | None = field(repr=False)
    context: ssl.SSLContext | None = field(repr=False)
    timeout_ms: int

    def __str__(self) -> str:
        return ", ".join(map(str, self.addresses))


def check_names(properties: Mapping[str, str]) -> None:
    """Raise unless each property may be set, and one says where the registry is.

    Raises:
        RegistryConfigError: One may not be, or `url` is missing.
    """
    for name in properties:
        if name not in ALLOWED:
            near = difflib.get_close_matches(name, ALLOWED, n=1)
            hint = f"did you mean {_PREFIX}{near[0]}" if near else f"there are {', '.join(sorted(ALLOWED))}"
            raise RegistryConfigError(
                f"{_PREFIX}{name} is not among the registry's properties that may be set; {hint}",
                property=name,
            )
    if not properties.get("url"):
        raise RegistryConfigError(
            f"the format needs a schema registry; set {_PREFIX}url to its address, such as http://host:8081",
            property="url",
        )


def parse_registry(properties: Mapping[str, str]) -> RegistrySettings:
    """Read resolved properties, named without their prefix.

    Raises:
        RegistryConfigError: One is unknown, malformed, or contradicts another.
    """
    check_names(properties)
    addresses = tuple(_address(url.strip()) for url in properties["url"].split(","))
    is_secure = any(address.scheme == "https" for address in addresses)
    return RegistrySettings(
        addresses=addresses,
        authorization=_authorization(properties),
        context=_context(properties) if is_secure else None,
        timeout_ms=_timeout_ms(properties),
    )


def identity_of(properties: Mapping[str, str]) -> str:
    """Return what is equal exactly for equal properties, and tells none of them."""
    return hashlib.sha256(json.dumps(sorted(properties.items())).encode()).hexdigest()


def _address(url: str) -> Address:
    try:
        parts = urlsplit(url)
        if parts.scheme not in _PORT or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("not an address")
        if "@" in parts.netloc or _NOT_IN_A_HEADER.search(url):
            raise ValueError("a user, or a character that an address cannot have")
        port = parts.port or _PORT[parts.scheme]
    except ValueError:
        raise RegistryConfigError(
            f"{_PREFIX}url is not of the form http://host:port or https://host:port/path (several separated "
            f"by commas); user and password go into {_PREFIX}basic.auth.user.info",
            property="url",
        ) from None
    return Address(parts.scheme, parts.hostname, port, parts.path.rstrip("/"))


def _authorization(properties: Mapping[str, str]) -> str | None:
    user_info = properties.get("basic.auth.user.info")
    token = properties.get("bearer.auth.token")
    if user_info is not None and token is not None:
        raise RegistryConfigError(
            f"{_PREFIX}basic.auth.user.info and {_PREFIX}bearer.auth.token exclude each other; give one",
            property="bearer.auth.token",
        )
    if user_info is not None:
        if ":" not in user_info:
            raise RegistryConfigError(
                f"{_PREFIX}basic.auth.user.info is not of the form user:password",
                property="basic.auth.user.info",
            )
        return "Basic " + base64.b64encode(user_info.encode()).decode()
    if token is not None:
        if not token or _NOT_IN_A_HEADER.search(token):
            raise RegistryConfigError(
                f"{_PREFIX}bearer.auth.token is empty or has a character that no token has",
                property="bearer.auth.token",
            )
        return f"Bearer {token}"
    return None


def _context(properties: Mapping[str, str]) -> ssl.SSLContext:
    authority = properties.get("ssl.ca.location")
    certificate = properties.get("ssl.certificate.location")
    key = properties.get("ssl.key.location")
    if key is not None and certificate is None:
        raise RegistryConfigError(
            f"{_PREFIX}ssl.key.location needs {_PREFIX}ssl.certificate.location", property="ssl.key.location"
        )
    named = "ssl.ca.location"
    try:
        context = ssl.create_default_context(cafile=authority)
        named = "ssl.certificate.location"
        if certificate is not None:
            # Without a password a protected key would be asked for on the terminal.
            context.load_cert_chain(certificate, key, properties.get("ssl.key.password", ""))
    except (OSError, ValueError) as exc:
        raise RegistryConfigError(
            f"{_PREFIX}{named} names a file that cannot be used here ({type(exc).__name__})", property=named
        ) from None
    return context


def _timeout_ms(properties: Mapping[str, str]) -> int:
    text = properties.get("request.timeout.ms", str(_TIMEOUT_MS))
    if not text.isdecimal() or not 0 < int(text) <= 3_600_000:
        raise RegistryConfigError(
            f"{_PREFIX}request.timeout.ms is not a whole number of milliseconds between 1 and 3600000",
            property="request.timeout.ms",
        )
    return int(text)
