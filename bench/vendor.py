"""The vendor of the benchmark: one process, never the bottleneck. `python -m bench.vendor FD`.

Uses asyncio's protocols, on uvloop if it is installed. `bench.vendor_wire` builds its responses.
"""

import asyncio
import re
import socket
import sys
import time
from typing import cast

from bench.loops import run
from bench.vendor_wire import Reply, plan, refuse

BACKLOG = 4096
#: Small requests repeat byte for byte, and so do their responses.
CACHED_BODY_BYTES = 4096
CACHED_REPLIES = 1024

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)

_cache: dict[tuple[bytes, bytes], Reply] = {}


class VendorProtocol(asyncio.Protocol):
    """One kept-alive connection."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._waiting_for = 0
        self._reply: Reply | None = None
        self._sent = 0
        self._started_s = 0.0
        self._may_write = True
        self._timer: asyncio.Handle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if self._timer is not None:
            self._timer.cancel()
        self._reply = None

    def pause_writing(self) -> None:
        self._may_write = False

    def resume_writing(self) -> None:
        self._may_write = True
        if self._reply is not None and self._timer is None:
            self._write_chunks()

    def data_received(self, data: bytes) -> None:
        self._received += data
        while self._reply is None and len(self._received) >= self._waiting_for:
            if not self._respond_next():
                return

    def _respond_next(self) -> bool:
        """Respond to the first request; return whether it was complete."""
        received = self._received
        head_end = received.find(b"\r\n\r\n")
        if head_end < 0:
            return False
        head = bytes(received[:head_end])
        length = _LENGTH.search(head)
        if length is None:
            self._transport.write(refuse())
            self._transport.close()
            return False
        end = head_end + 4 + int(length[1])
        if len(received) < end:
            self._waiting_for = end  # a large body is searched once, when it is complete
            return False
        path, body = head.split(b" ", 2)[1], bytes(received[head_end + 4 : end])
        del received[:end]
        self._waiting_for = 0
        self._begin(_reply_to(path, body))
        return True

    def _begin(self, reply: Reply) -> None:
        if not reply.knobs.chunks:
            self._transport.write(reply.head)
            return
        self._reply, self._sent, self._started_s = reply, 0, time.monotonic()
        self._transport.write(reply.head)
        self._write_chunks()

    def _write_chunks(self) -> None:
        """Write the chunks that are due, and schedule the next ones."""
        self._timer = None
        reply = self._reply
        if reply is None or not self._may_write:
            return
        knobs = reply.knobs
        if self._sent == knobs.chunks:
            self._transport.write(reply.end)
            self._reply = None
            self.data_received(b"")
            return
        count = min(knobs.chunks_a_write, knobs.chunks - self._sent)
        self._transport.write(reply.chunks(self._sent, count))
        self._sent += count
        if not knobs.interval_ms:
            self._timer = self._loop.call_soon(self._write_chunks)
            return
        due_s = self._started_s + self._sent / knobs.chunks_a_write * knobs.interval_ms / 1000
        self._timer = self._loop.call_later(max(0.0, due_s - time.monotonic()), self._write_chunks)


def _reply_to(path: bytes, body: bytes) -> Reply:
    if len(body) > CACHED_BODY_BYTES:
        return plan(path, body)
    reply = _cache.get((path, body))
    if reply is None:
        if len(_cache) >= CACHED_REPLIES:
            _cache.clear()
        reply = _cache[path, body] = plan(path, body)
    return reply


async def serve(listener: socket.socket) -> None:
    """Answer on `listener` until cancelled."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(VendorProtocol, sock=listener, backlog=BACKLOG)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    run(serve(socket.socket(fileno=int(sys.argv[1]))))
