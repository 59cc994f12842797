"""Generates load if wrk is not installed: connections that each wait for their response.

`python -m bench.rawload` takes a `Load` as JSON on stdin and prints what wrk's script prints.
"""

import asyncio
import json
import re
import sys
import time
from dataclasses import dataclass, field
from typing import cast

from bench.loops import run
from bench.stats import percentile

#: The prefix of the line with the results.
MARK = "RESULT "
HOST = "127.0.0.1"
#: How long a response may take after the end of the load.
LAST_S = 60.0

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Load:
    """`connections` that repeat the bytes `request` for `seconds`."""

    port: int
    request: str
    connections: int
    seconds: float


@dataclass(slots=True)
class _Tally:
    until_s: float
    taken_us: list[float] = field(default_factory=list)
    refused: int = 0
    broken: int = 0
    open: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)


class _Connection(asyncio.Protocol):
    """One connection."""

    def __init__(self, request: bytes, tally: _Tally) -> None:
        self._request = request
        self._tally = tally
        self._received = b""
        self._sent_s: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._tally.open += 1
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = response_end(self._received)
        if end is None:
            return
        tally = self._tally
        if self._sent_s is not None:
            tally.taken_us.append((time.monotonic() - self._sent_s) * 1e6)
            self._sent_s = None
        tally.refused += not self._received.startswith(b"HTTP/1.1 200")
        self._received = self._received[end:]
        self._ask()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        tally = self._tally
        tally.broken += self._sent_s is not None
        tally.open -= 1
        if not tally.open:
            tally.over.set()

    def _ask(self) -> None:
        if time.monotonic() >= self._tally.until_s:
            self._transport.close()
            return
        self._sent_s = time.monotonic()
        self._transport.write(self._request)


def response_end(received: bytes) -> int | None:
    """Return the end of the first response in `received`; None if it is incomplete."""
    head_end = received.find(b"\r\n\r\n")
    if head_end < 0:
        return None
    length = _LENGTH.search(received, 0, head_end + 2)
    if length is None:  # chunked; a JSON body cannot hold this line
        end = received.find(b"\r\n0\r\n\r\n", head_end)
        return end + 7 if end >= 0 else None
    end = head_end + 4 + int(length[1])
    return end if len(received) >= end else None


async def press(load: Load) -> dict[str, float]:
    """Send the load and return what it came to.

    Raises: TimeoutError if the last responses do not come.
    """
    loop = asyncio.get_running_loop()
    started_s = time.monotonic()
    tally = _Tally(started_s + load.seconds)
    request = load.request.encode()
    for _ in range(load.connections):
        await loop.create_connection(lambda: _Connection(request, tally), HOST, load.port)
    await asyncio.wait_for(tally.over.wait(), load.seconds + LAST_S)
    duration_us = (time.monotonic() - started_s) * 1e6
    ordered = sorted(tally.taken_us) or [0.0]
    return {
        "requests": len(tally.taken_us),
        "duration_us": duration_us,
        "p50_us": percentile(ordered, 50),
        "p99_us": percentile(ordered, 99),
        "max_us": ordered[-1],
        "refused": tally.refused,
        "broken": tally.broken,
    }


async def _main() -> None:
    print(MARK + json.dumps(await press(Load(**json.load(sys.stdin)))))


if __name__ == "__main__":
    run(_main())
