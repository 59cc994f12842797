"""The streams' reader: one process that opens many streams and records when bytes arrive.

`python -m bench.streams` takes a `StreamLoad` as JSON on stdin and prints a `StreamResult` as JSON.
While streams are open, it only receives and records times. It parses everything afterwards, so that
parsing is not measured.
"""

import errno
import gc
import json
import select
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bench.lags import Heard, Piece, hear
from bench.stats import percentile

HOST = "127.0.0.1"
RECEIVE_BYTES = 256 * 1024
#: The receive buffer of a client that does not read, so that little is buffered on the way.
SMALL_BUFFER_BYTES = 4096
_OK = b"HTTP/1.1 200"
#: The end of a chunked body; no frame ends like this.
_LAST = b"\r\n0\r\n\r\n"

#: The percentiles of a result; 100 is the largest value.
PERCENTS = (50, 90, 95, 99, 99.9, 100)


@dataclass(frozen=True, slots=True)
class StreamLoad:
    """`streams` requests with the bytes `request`, `a_second` per second; each expects `chunks`.

    With `reads` False, they stay open, unread, until `limit_s` is over.
    """

    port: int
    request: str
    streams: int
    a_second: float
    chunks: int
    limit_s: float
    reads: bool = True


@dataclass(frozen=True, slots=True)
class StreamResult:
    """The result of a load. Times are the percentiles of PERCENTS in ms; empty without a value."""

    streams: int
    complete: int
    lost: int
    chunks: int
    #: From the first request to the last byte.
    wall_s: float
    first_ms: list[float]
    lag_ms: list[float]
    #: HTTP status other than 200 -> count; 0: no response.
    statuses: dict[str, int]


@dataclass(slots=True)
class _Stream:
    socket: socket.socket
    to_send: memoryview
    started_ns: int
    pieces: list[Piece] = field(default_factory=list)
    tail: bytes = b""


def run(plan: StreamLoad) -> StreamResult:
    """Open the streams, read them to their ends, and return the result."""
    gc.disable()  # a garbage collection would pause this client
    started_s = time.monotonic()
    streams = _Reader(plan).read_all()
    wall_s = time.monotonic() - started_s
    gc.enable()
    if not plan.reads:
        return StreamResult(plan.streams, 0, 0, 0, wall_s, [], [], {})
    return _judge(plan, streams, wall_s)


class _Reader:
    """A running load."""

    def __init__(self, plan: StreamLoad) -> None:
        self._plan = plan
        self._epoll = select.epoll()
        self._open: dict[int, _Stream] = {}
        self._all: list[_Stream] = []
        self._request = memoryview(plan.request.encode())

    def read_all(self) -> Sequence[_Stream]:
        """Return all streams when the last one has ended, or at the deadline."""
        start_s = time.monotonic()
        limit_s = start_s + self._plan.limit_s
        plan = self._plan
        while (now_s := time.monotonic()) < limit_s:
            due = min(plan.streams, 1 + int((now_s - start_s) * plan.a_second))
            while len(self._all) < due:
                self._start()
            if len(self._all) == plan.streams and not self._open:
                break
            for descriptor, events in self._epoll.poll(self._patience_s(start_s, limit_s)):
                self._serve(self._open[descriptor], events)
        for stream in list(self._open.values()):
            self._end(stream)
        self._epoll.close()
        return self._all

    def _patience_s(self, start_s: float, limit_s: float) -> float:
        """Return how long to wait for a socket, at most."""
        next_s = limit_s
        if len(self._all) < self._plan.streams:
            next_s = min(next_s, start_s + len(self._all) / self._plan.a_second)
        return max(0.0, next_s - time.monotonic())

    def _start(self) -> None:
        connection = socket.socket()
        connection.setblocking(False)
        if not self._plan.reads:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER_BYTES)
        stream = _Stream(connection, self._request, time.monotonic_ns())
        self._all.append(stream)
        self._open[connection.fileno()] = stream
        failed = connection.connect_ex((HOST, self._plan.port))
        if failed not in (0, errno.EINPROGRESS):
            self._end(stream)
            return
        self._epoll.register(connection, select.EPOLLOUT)

    def _serve(self, stream: _Stream, events: int) -> None:
        try:
            if events & select.EPOLLOUT:
                self._send(stream)
            else:
                self._receive(stream)
        except BlockingIOError:
            return
        except OSError:  # refused or reset: counted as an incomplete response
            self._end(stream)

    def _send(self, stream: _Stream) -> None:
        stream.to_send = stream.to_send[stream.socket.send(stream.to_send) :]
        if not stream.to_send:
            self._epoll.modify(stream.socket, select.EPOLLIN if self._plan.reads else 0)

    def _receive(self, stream: _Stream) -> None:
        data = stream.socket.recv(RECEIVE_BYTES)
        if data:
            stream.pieces.append((time.monotonic_ns(), data))
            stream.tail = (stream.tail + data)[-len(_LAST) :]
        refused = len(stream.pieces) == 1 and not _OK.startswith(data[: len(_OK)])
        if not data or refused or stream.tail == _LAST:
            self._end(stream)

    def _end(self, stream: _Stream) -> None:
        del self._open[stream.socket.fileno()]
        stream.socket.close()


def _judge(plan: StreamLoad, streams: Sequence[_Stream], wall_s: float) -> StreamResult:
    heard = [hear(stream.pieces) for stream in streams]
    firsts = [
        (one.first_ns - stream.started_ns) / 1e6
        for one, stream in zip(heard, streams, strict=True)
        if one.first_ns is not None
    ]
    return StreamResult(
        streams=plan.streams,
        complete=sum(_is_complete(one, plan.chunks) for one in heard),
        lost=sum(one.lost(plan.chunks) for one in heard)
        + plan.chunks * (plan.streams - len(heard)),
        chunks=sum(len(one.numbers) for one in heard),
        wall_s=wall_s,
        first_ms=_percentiles(firsts),
        lag_ms=_percentiles([lag for one in heard for lag in one.lags_ms]),
        statuses=_statuses(heard),
    )


def _is_complete(heard: Heard, chunks: int) -> bool:
    return heard.ended and len(heard.numbers) == chunks and not heard.lost(chunks)


def _percentiles(values: list[float]) -> list[float]:
    ordered = sorted(values)
    return [percentile(ordered, percent) for percent in PERCENTS] if ordered else []


def _statuses(heard: Sequence[Heard]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in heard:
        if one.status != 200:
            counts[str(one.status)] = counts.get(str(one.status), 0) + 1
    return counts


def main() -> None:
    """Read a load from stdin, run it, and print the result."""
    fields: dict[str, Any] = json.load(sys.stdin)
    json.dump(asdict(run(StreamLoad(**fields))), sys.stdout)


if __name__ == "__main__":
    main()
