"""A registry is asked over https only if its certificate is trusted, and it hears who asks if it wants to.

Certificates are those of the stack, turned from a Java key store into files that OpenSSL reads.
"""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

from hotset.errors import HotsetError, RegistryAccessError, RegistryUnavailableError
from hotset.registry.registered_schema import RegisteredSchema
from hotset.registry.registry_client import SchemaRegistry, registry_for
from hotset.registry.registry_settings import parse_registry
from stack.certificates import Certificates
from tests.hotset.small_registry import small_registry

PASSWORD = "canary-4711-secret"


class Files:
    """Of one name: the certificate, its key, and its key under a password."""

    def __init__(self, made: Certificates, name: str) -> None:
        store = load_pkcs12(made.store(name).read_bytes(), made.password.encode())
        assert store.cert is not None
        assert store.key is not None
        self.certificate, self.key, self.locked = (
            made.directory / f"{name}.{end}" for end in ("pem", "key", "lock")
        )
        self.certificate.write_bytes(store.cert.certificate.public_bytes(Encoding.PEM))
        form = (Encoding.PEM, PrivateFormat.PKCS8)
        self.key.write_bytes(store.key.private_bytes(*form, NoEncryption()))
        self.locked.write_bytes(store.key.private_bytes(*form, BestAvailableEncryption(PASSWORD.encode())))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    names = {
        "server": ("ip:127.0.0.1", "-1d"),
        "elsewhere": ("dns:elsewhere", "-1d"),
        "client": ("dns:me", "-1d"),
    }
    return Certificates.make(tmp_path_factory.mktemp("certificates"), names)


def ask(
    made: Certificates, server: str = "server", *, wants_client: bool = False, **properties: str
) -> object:
    """The schema that a registry with a certificate tells to a client with these properties."""
    own = Files(made, server)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.certificate, own.key)
    if wants_client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(made.authority)
    with small_registry(context) as registry:
        registry.knows("/schemas/ids/1", '"string"')
        given = {name.replace("_", "."): value for name, value in properties.items()}
        return SchemaRegistry(parse_registry({"url": registry.url, **given})).by_id(1)


def test_a_certificate_of_a_named_authority_is_trusted(made: Certificates) -> None:
    assert ask(made, ssl_ca_location=str(made.authority)) == RegisteredSchema("AVRO", '"string"')


def test_a_certificate_of_nobody_known_is_refused(made: Certificates) -> None:
    with pytest.raises(RegistryAccessError, match=r"is not trusted .*schema\.registry\.ssl\.ca\.location"):
        ask(made)


def test_a_certificate_of_another_host_is_refused(made: Certificates) -> None:
    with pytest.raises(RegistryAccessError, match="is not trusted"):
        ask(made, "elsewhere", ssl_ca_location=str(made.authority))


@pytest.mark.parametrize("is_locked", [False, True])
def test_a_client_shows_its_certificate(made: Certificates, is_locked: bool) -> None:
    mine = Files(made, "client")
    key = (
        {"ssl_key_location": str(mine.locked), "ssl_key_password": PASSWORD}
        if is_locked
        else {"ssl_key_location": str(mine.key)}
    )

    found = ask(
        made,
        wants_client=True,
        ssl_ca_location=str(made.authority),
        ssl_certificate_location=str(mine.certificate),
        **key,
    )

    assert found == RegisteredSchema("AVRO", '"string"')


def test_a_client_without_a_certificate_is_not_answered(made: Certificates) -> None:
    with pytest.raises(RegistryUnavailableError):
        ask(made, wants_client=True, ssl_ca_location=str(made.authority))


def test_a_key_with_another_password_is_an_error_and_nothing_asks_for_one(
    made: Certificates, tmp_path: Path
) -> None:
    mine = Files(made, "client")
    files = {"ssl_certificate_location": str(mine.certificate), "ssl_key_location": str(mine.locked)}

    for given in ({}, {"ssl_key_password": "another-secret"}):
        with pytest.raises(
            HotsetError, match=r"schema\.registry\.ssl\.certificate\.location names a file"
        ) as caught:
            ask(made, **files, **given)
        assert "another-secret" not in repr(caught.value)


def test_trust_is_set_up_once_for_a_registry(made: Certificates, tmp_path: Path) -> None:
    authority = tmp_path / "authority.pem"
    authority.write_bytes(made.authority.read_bytes())
    properties = {"url": "https://127.0.0.1:9", "ssl.ca.location": str(authority)}
    registry = registry_for(properties)

    authority.unlink()

    assert registry_for(properties) is registry
