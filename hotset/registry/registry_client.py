"""Schemas by id from a schema registry, each fetched once per process.

What an id names never changes, so it is kept; with the registry down, what is
kept goes on working. This is a client of our own: the one in confluent-kafka
has timeouts that begin again with every byte and pauses without a deadline,
keeps schemas without bound, and needs an HTTP and an OAuth library besides.
It must not know formats, records or options.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

from foundation.deadline import Deadline
from foundation.http_request import Request, exchange
from hotset.errors import (
    HotsetError,
    RegistryAccessError,
    RegistryProtocolError,
    RegistryUnavailableError,
    SchemaNotFoundError,
)
from hotset.registry.registered_schema import RegisteredSchema, read_schema, version_path
from hotset.registry.registry_settings import Address, RegistrySettings, identity_of, parse_registry

_KEPT: Final = 4096
_REGISTRIES: Final = 64
_LATEST_S: Final = 30.0
_EVER_S: Final = float("inf")
_MAX_ANSWER_BYTES: Final = 16 << 20
_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"


class SchemaRegistry:
    """One registry, for any number of threads; callers who want the same schema ask once."""

    def __init__(self, settings: RegistrySettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, RegisteredSchema]] = OrderedDict()
        self._flights: dict[str, Future[RegisteredSchema]] = {}

    def __repr__(self) -> str:
        return f"SchemaRegistry({self._settings})"

    def by_id(self, schema_id: int) -> RegisteredSchema:
        """Return the schema that has a number.

        Raises:
            SchemaNotFoundError: There is none.
            RegistryUnavailableError: It is not kept, and nobody answered in time.
            RegistryAccessError: The registry refused to tell.
            RegistryProtocolError: Its answer is not understood.
        """
        return self._once(f"/schemas/ids/{schema_id}", f"schema id {schema_id}")

    def by_guid(self, guid: uuid.UUID) -> RegisteredSchema:
        """Return the schema that has an identity, which is the same in every registry.

        Raises:
            HotsetError: As `by_id`.
        """
        return self._once(f"/schemas/guids/{guid}", f"schema {guid}")

    def latest(self, subject: str, within_s: float = _EVER_S) -> RegisteredSchema:
        """Return the newest schema of a subject, or the one of half a minute ago.

        Raises:
            HotsetError: As `by_id`; also if nobody answered in the seconds that are given.
        """
        path = version_path(subject, "latest")
        return self._once(path, f"the latest schema of subject {subject!r}", _LATEST_S, within_s)

    def version(self, subject: str, version: int, within_s: float = _EVER_S) -> RegisteredSchema:
        """Return a version of a subject's schema, also if it has been deleted since.

        Raises:
            HotsetError: As `latest`.
        """
        what = f"version {version} of subject {subject!r}"
        return self._once(version_path(subject, version), what, within_s=within_s)

    def _once(
        self, path: str, what: str, keep_s: float = _EVER_S, within_s: float = _EVER_S
    ) -> RegisteredSchema:
        deadline = Deadline.after_ms(self._settings.timeout_ms)
        with self._lock:
            until, kept = self._kept.get(path, (0.0, None))
            if kept is not None and time.monotonic() < until:
                self._kept.move_to_end(path)
                return kept
            flight = self._flights.get(path)
            if flight is None:
                flight = self._flights[path] = Future()
                self._start(flight, path, what, deadline, keep_s)
        try:
            return flight.result(min(deadline.remaining_s, within_s))
        except TimeoutError:
            self._land(flight, path)
            raise self._unavailable(what, "it did not answer in time") from None
        except HotsetError as exc:
            # The one error is shared by all who waited; each raises its own.
            raise type(exc)(str(exc), **exc.details) from exc

    def _start(
        self, flight: Future[RegisteredSchema], path: str, what: str, deadline: Deadline, keep_s: float
    ) -> None:
        # A thread of its own, since looking up a host's name knows no deadline.
        def fly() -> None:
            try:
                found = read_schema(partial(self.ask, deadline=deadline), path, what)
                self._keep(path, found, keep_s)
            except Exception as exc:  # noqa: BLE001 - raised where it is waited for
                flight.set_exception(exc)
            else:
                flight.set_result(found)
            finally:
                self._land(flight, path)

        threading.Thread(target=fly, daemon=True).start()

    def _land(self, flight: Future[RegisteredSchema], path: str) -> None:
        with self._lock:
            if self._flights.get(path) is flight:
                del self._flights[path]

    def _keep(self, path: str, found: RegisteredSchema, keep_s: float) -> None:
        with self._lock:
            self._kept[path] = (time.monotonic() + keep_s, found)
            self._kept.move_to_end(path)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)

    def ask(self, path: str, what: str, deadline: Deadline) -> dict[str, Any]:
        """Return the answer of the first server that gives one.

        Raises:
            SchemaNotFoundError: The registry has nothing under that path.
            RegistryUnavailableError: No server answered in time.
            RegistryAccessError: The registry refused to tell.
            RegistryProtocolError: Its answer is not understood.
        """
        why = "it did not answer in time"
        addresses = self._settings.addresses
        for place, address in enumerate(addresses):
            # A server that is silent leaves as much time to each that comes after it.
            share = Deadline.after_ms(int(deadline.remaining_s * 1000 / (len(addresses) - place)))
            try:
                status, body = exchange(self._request(address, path), share, _MAX_ANSWER_BYTES)
            except ssl.SSLCertVerificationError as exc:
                raise RegistryAccessError(
                    f"the certificate of the schema registry at {address} is not trusted "
                    f"({exc.verify_message}); name its authority's file in schema.registry.ssl.ca.location",
                    url=str(address),
                ) from exc
            except OverflowError as exc:
                raise self._not_understood(address, what, f"it has {exc}") from exc
            except (OSError, http.client.HTTPException, UnicodeError) as exc:
                why = f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__
                continue
            if status < 500 and status != 429:
                return self._answer(address, what, status, body)
            why = f"{address} failed with status {status}"
        raise self._unavailable(what, why)

    def _request(self, address: Address, path: str) -> Request:
        headers = {"Accept": _ACCEPT}
        if self._settings.authorization is not None:
            headers["Authorization"] = self._settings.authorization
        return Request(
            scheme=address.scheme,
            host=address.host,
            port=address.port,
            method="GET",
            path=address.path + path,
            headers=headers,
            context=self._settings.context,
        )

    def _answer(self, address: Address, what: str, status: int, body: bytes) -> dict[str, Any]:
        if status in (401, 403):
            raise RegistryAccessError(
                f"the schema registry at {address} refused {what} with status {status}; correct "
                "schema.registry.basic.auth.user.info or schema.registry.bearer.auth.token",
                url=str(address),
            )
        try:
            answer = json.loads(body)
            if not isinstance(answer, dict):
                raise TypeError(f"it is a {type(answer).__name__}")
        except (ValueError, TypeError, RecursionError) as exc:
            raise self._not_understood(address, what, f"status {status}: {exc}") from exc
        if status == 404 and isinstance(answer.get("error_code"), int):
            raise SchemaNotFoundError(
                f"the schema registry at {address} does not know {what}; is this the registry that the "
                "producer uses, and has the schema been deleted for good",
                url=str(address),
            )
        if status != 200:
            raise self._not_understood(address, what, f"status {status}")
        return answer

    def _not_understood(self, address: Address, what: str, why: str) -> RegistryProtocolError:
        return RegistryProtocolError(
            f"the answer of the schema registry at {address} for {what} is not understood ({why}); "
            "is schema.registry.url its address, with the path of its Confluent-compatible interface",
            url=str(address),
        )

    def _unavailable(self, what: str, why: str) -> RegistryUnavailableError:
        return RegistryUnavailableError(
            f"{what} is not kept yet, and the schema registry at {self._settings} did not tell it ({why}); "
            "see whether it runs, and ask again",
            url=str(self._settings),
        )


_lock: Final = threading.Lock()
_registries: Final[OrderedDict[str, SchemaRegistry]] = OrderedDict()


def registry_for(properties: Mapping[str, str]) -> SchemaRegistry:
    """Return this process's client of a registry.

    Args:
        properties: Resolved, and named without the prefix `schema.registry.`.

    Raises:
        RegistryConfigError: A property is unknown, malformed, or contradicts another.
    """
    # Known properties are not read again: each split asks, and trust in certificates takes long to set up.
    identity = identity_of(properties)
    with _lock:
        registry = _registries.get(identity)
    if registry is None:
        registry = SchemaRegistry(parse_registry(properties))
    with _lock:
        registry = _registries.setdefault(identity, registry)
        _registries.move_to_end(identity)
        while len(_registries) > _REGISTRIES:
            _registries.popitem(last=False)
        return registry
