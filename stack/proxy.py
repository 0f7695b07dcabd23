"""A TCP connection that misbehaves on request, because networks fail in ways that a process cannot.

It stands between a client and a server on this machine: it delays, cuts, swallows or starves what
passes. It must not know what the bytes mean; which faults a query has to survive is the caller's.
Kafka clients go where brokers tell them to, so the broker must advertise this proxy's port.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from dataclasses import dataclass
from typing import Final, Self

from stack.errors import StackError
from stack.ports import HOST
from stack.stoppable import Stoppable

CHUNK_BYTES: Final = 64 * 1024
QUEUED_CHUNKS: Final = 64
DRIPS_PER_S: Final = 10
COMMAND_S: Final = 10.0

# Closing with this option sends RST and throws away what was not sent.
RESET: Final = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True)
class _Fault:
    """What happens to bytes; the defaults are a healthy network."""

    delay_s: float = 0.0
    is_reset: bool = False
    is_swallowing: bool = False
    is_half_open: bool = False
    bytes_per_s: int | None = None
    cut_after: int | None = None


class _Link:
    """One client's connection and its counterpart at the server."""

    def __init__(self, client: asyncio.StreamWriter) -> None:
        self.client = client
        self.server: asyncio.StreamWriter | None = None
        self.sent_bytes = 0  # to the client, since the last change of fault
        self.has_lost = False

    def reset(self) -> None:
        for end in (self.client, self.server):
            if end is None or end.is_closing():
                continue
            with contextlib.suppress(OSError):
                end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            end.transport.abort()


class TcpProxy(Stoppable):
    """Passes bytes both ways until told otherwise; every fault stays until the next call.

    A fault holds for connections that are open as well as for new ones, and is in effect when the
    call returns. A connection that has lost bytes is reset by the next change, never healed.
    """

    def __init__(self, target_host: str, target_port: int, port: int) -> None:
        """Describe a proxy; use `start`."""
        self.port = port
        self.accepted = 0
        self.forwarded_bytes = 0  # from server to client, of all connections
        self._target = (target_host, target_port)
        self._fault = _Fault()
        self._links: set[_Link] = set()
        self._ready = threading.Event()
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._run, name=f"proxy to {target_port}", daemon=True)

    @classmethod
    def start(cls, target_host: str, target_port: int, *, port: int = 0) -> Self:
        """Listen on `port` (any free one by default) and pass everything on.

        Nothing has to listen at the target yet; until it does, clients are reset.

        Raises:
            StackError: The port is taken.
        """
        proxy = cls(target_host, target_port, port)
        proxy._thread.start()
        proxy._ready.wait()
        if proxy._error is not None:
            raise StackError(f"no proxy on port {port}: {proxy._error}") from proxy._error
        return proxy

    @property
    def address(self) -> str:
        """Where clients connect: host and port."""
        return f"{HOST}:{self.port}"

    def pass_through(self) -> None:
        """Pass everything on at once: a healthy network."""
        self._set(_Fault())

    def delay(self, ms: float) -> None:
        """Pass everything on, each way, this many milliseconds late."""
        self._set(_Fault(delay_s=ms / 1000))

    def reset(self) -> None:
        """Reset (RST) the open connections, and each new one as soon as it is accepted."""
        self._set(_Fault(is_reset=True))

    def black_hole(self) -> None:
        """Accept connections and swallow what they bring; nothing is ever answered."""
        self._set(_Fault(is_swallowing=True))

    def half_open(self) -> None:
        """Pass on what clients send and hold back what the server answers."""
        self._set(_Fault(is_half_open=True))

    def drip(self, bytes_per_second: int) -> None:
        """Pass the server's answers on at this rate, per connection."""
        self._set(_Fault(bytes_per_s=bytes_per_second))

    def cut_after(self, n_bytes: int) -> None:
        """Close each connection after its next `n_bytes` from the server have reached the client."""
        self._set(_Fault(cut_after=n_bytes))

    def stop(self) -> None:
        """Close every connection and the port; a second call does nothing."""
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # The loop ended between the two lines.
                self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as exc:
            self._error = exc
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopped = asyncio.Event()
        self._changed = asyncio.Event()
        server = await asyncio.start_server(self._accept, HOST, self.port)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopped.wait()
        server.close()
        for link in list(self._links):
            link.reset()

    def _set(self, fault: _Fault) -> None:
        if not self._thread.is_alive():
            raise StackError(f"the proxy on port {self.port} is stopped")
        asyncio.run_coroutine_threadsafe(self._change(fault), self._loop).result(COMMAND_S)

    async def _change(self, fault: _Fault) -> None:
        self._fault = fault
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        for link in list(self._links):
            link.sent_bytes = 0
            if fault.is_reset or link.has_lost:
                link.reset()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        link = _Link(writer)
        self._links.add(link)
        try:
            await self._connect(link, reader)
        except (OSError, asyncio.CancelledError):
            pass  # One side is gone, so the other has to go: there is nobody to tell.
        finally:
            self._links.discard(link)
            link.reset()

    async def _connect(self, link: _Link, reader: asyncio.StreamReader) -> None:
        if self._fault.is_reset:
            return
        if self._fault.is_swallowing:
            # The server hears nothing of this client, whatever happens later.
            link.has_lost = True
            while await reader.read(CHUNK_BYTES):
                pass
            return
        answers, link.server = await asyncio.open_connection(*self._target)
        both = [
            asyncio.ensure_future(self._pump(link, reader, link.server, is_answer=False)),
            asyncio.ensure_future(self._pump(link, answers, link.client, is_answer=True)),
        ]
        try:
            await asyncio.gather(*both)
        finally:
            for pump in both:
                pump.cancel()

    async def _pump(
        self, link: _Link, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        """Carry one direction to its end; reading runs ahead, so a delay costs no throughput."""
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(QUEUED_CHUNKS)
        reading = asyncio.ensure_future(self._read(source, queue))
        try:
            while True:
                due_s, data = await queue.get()
                await self._pause(due_s - self._loop.time())
                if not data:
                    break
                await self._deliver(link, data, sink, is_answer=is_answer)
            await self._until_open(is_answer=is_answer)
            await reading
            if sink.can_write_eof() and not sink.is_closing():
                sink.write_eof()
        finally:
            reading.cancel()

    async def _read(self, source: asyncio.StreamReader, queue: asyncio.Queue[tuple[float, bytes]]) -> None:
        data = b"-"
        while data:
            try:
                data = await source.read(CHUNK_BYTES)
            except ConnectionError:
                data = b""
            await queue.put((self._loop.time() + self._fault.delay_s, data))

    async def _deliver(
        self, link: _Link, data: bytes, sink: asyncio.StreamWriter, *, is_answer: bool
    ) -> None:
        while data:
            await self._until_open(is_answer=is_answer)
            fault = self._fault
            if fault.is_swallowing:
                link.has_lost = True
                return
            size = len(data)
            if is_answer and fault.bytes_per_s is not None:
                size = min(size, max(1, fault.bytes_per_s // DRIPS_PER_S))
                await self._pause(size / fault.bytes_per_s)
                if self._fault is not fault:
                    continue
            is_cut = is_answer and fault.cut_after is not None and link.sent_bytes + size >= fault.cut_after
            if is_cut and fault.cut_after is not None:
                size = fault.cut_after - link.sent_bytes
            sink.write(data[:size])
            await sink.drain()
            data = data[size:]
            if is_answer:
                link.sent_bytes += size
                self.forwarded_bytes += size
            if is_cut:
                sink.close()  # In order, so that the bytes before the cut do arrive.
                await sink.wait_closed()
                raise ConnectionResetError("cut")

    async def _until_open(self, *, is_answer: bool) -> None:
        while is_answer and self._fault.is_half_open:
            await self._changed.wait()

    async def _pause(self, seconds: float) -> None:
        """Wait, but no longer than the fault that asked for it lasts."""
        if seconds > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)
