"""The load: the same small client for the vendor itself and for the gateway before it."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import count
from typing import Any

TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Target:
    """Where to send completions; `model` is echo as this target knows it."""

    port: int
    path: str
    model: str
    key: str = ""

    def connect(self) -> HTTPConnection:
        """Open a connection, to be kept."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        connection.connect()
        return connection

    def complete(self, connection: HTTPConnection, knobs: str = "", **fields: Any) -> bytes:
        """Send one completion and read all of its answer."""
        body = json.dumps({"model": self.model + knobs, "prompt": "one two three", **fields})
        headers = {"content-type": "application/json", "x-api-key": self.key}
        connection.request("POST", self.path, body, headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200:
            raise RuntimeError(f"{response.status}: {answer.decode()}")
        return answer


def latencies_ms(target: Target, requests: int) -> list[float]:
    """Return how long each of `requests` took, one after another on one connection."""
    connection, taken = target.connect(), []
    for _ in range(requests):
        start_s = time.perf_counter()
        target.complete(connection)
        taken.append((time.perf_counter() - start_s) * 1000)
    connection.close()
    return taken


def requests_per_s(target: Target, requests: int, connections: int) -> float:
    """Return the rate at which `connections` callers get `requests` answers."""
    tickets = count()

    def call() -> None:
        connection = target.connect()
        while next(tickets) < requests:
            target.complete(connection)
        connection.close()

    return requests / in_parallel(call, connections)


def stream_all(target: Target, streams: int, words: int, delay_ms: int) -> float:
    """Return how long `streams` take that are open at once, in seconds; all must be complete."""
    knobs = f"?words={words}&delay_ms={delay_ms}"

    def call() -> None:
        answer = target.complete(target.connect(), knobs, stream=True)
        chunks = answer.count(b'"text":')
        if chunks != words + 1 or b"data: [DONE]" not in answer:
            raise RuntimeError(f"a stream of {words} words had {chunks} chunks")

    return in_parallel(call, streams)


def in_parallel(call: Callable[[], None], threads: int) -> float:
    """Run `call` in so many threads and return the seconds until all have ended.

    Raises: the first thread's exception, if any has one.
    """
    failures: list[Exception] = []

    def run() -> None:
        try:
            call()
        except Exception as exc:  # noqa: BLE001  # raised again below, in the caller's thread
            failures.append(exc)

    workers = [threading.Thread(target=run) for _ in range(threads)]
    start_s = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]
    return time.perf_counter() - start_s
