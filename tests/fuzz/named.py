"""Attacks with a name: each does its worst, and says what came of it in a few words."""

import contextlib
import gzip
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from tests.fuzz.target import Target
from tests.fuzz.wire import Said, chunked, connect, exchange, read_answer, request
from tests.support.processes import join, run_all

MIB = 1024 * 1024

#: How long an attack without an end goes on, in seconds.
LONG_S = 6.0


def _ask(target: Target, body: bytes, *headers: str) -> str:
    key = f"x-api-key: {target.gateway.api_key}"
    return _told(exchange(target.address, [request("/v5/completions", key, *headers, body=body)]))


def _told(said: Said) -> str:
    return f"{said.status} {said.ended}"


def _endless(head: bytes, piece: bytes) -> Callable[[Target], str]:
    """Send a head, and then pieces for as long as they are taken."""

    def attack(target: Target) -> str:
        until_s, sent = time.monotonic() + LONG_S, len(head)
        with connect(target.address) as sock:
            try:
                sock.sendall(head)
                while time.monotonic() < until_s:
                    sock.sendall(piece)
                    sent += len(piece)
            except ConnectionError:
                pass
            return f"{_told(read_answer(sock))}, {sent // MIB} MiB taken"

    return attack


def _json(body: Callable[[], bytes]) -> Callable[[Target], str]:
    return lambda target: _ask(target, body())


def _field(value: str) -> bytes:
    return ('{"model":"sim/m","prompt":"x","extra":' + value + "}").encode()


def _fan_out() -> bytes:
    asked = {"model": "single/m", "prompt": "word " * 1_800_000, "n": 128}
    return json.dumps(asked).encode()


def _polite_floods(target: Target) -> str:
    """Send 20 bodies of 20 MiB with a bad key at once; each is to get its answer."""
    raw = request("/v5/completions", "x-api-key: wrong", "connection: close", body=b"x" * 20 * MIB)
    return _at_once(20, lambda: _told(exchange(target.address, [raw])))


def _at_once(count: int, call: Callable[[], str]) -> str:
    told: list[str] = []
    threads = [threading.Thread(target=lambda: told.append(call())) for _ in range(count)]
    run_all(threads)
    return ", ".join(f"{n} x {what}" for what, n in sorted(Counter(told).items()))


@contextlib.contextmanager
def _many(target: Target, count: int, first: bytes) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        socks = []
        for _ in range(count):
            with contextlib.suppress(OSError):
                sock = socket.create_connection(target.address, timeout=5)
                stack.enter_context(sock)
                if first:
                    sock.sendall(first)
                socks.append(sock)
        yield socks


def _crowd(count: int, first: bytes) -> Callable[[Target], str]:
    """Open many connections that go no further, and then ask politely."""

    def attack(target: Target) -> str:
        with _many(target, count, first) as socks:
            started_s = time.monotonic()
            with connect(target.address) as sock:
                sock.settimeout(20)
                sock.sendall(request("/livez", method="GET"))
                said = read_answer(sock)
            waited_ms = (time.monotonic() - started_s) * 1000
            return f"{len(socks)} open; another got {_told(said)} after {waited_ms:.0f} ms"

    return attack


def _dripping_heads(target: Target) -> str:
    """Have many heads grow byte by byte."""
    first = b"GET /livez HTTP/1.1\r\nhost: x\r\nx-long: " + b"y" * 6000
    with _many(target, 500, first) as socks:
        until_s = time.monotonic() + LONG_S
        while time.monotonic() < until_s:
            for sock in socks:
                with contextlib.suppress(OSError):
                    sock.send(b"z")
    return f"{len(socks)} heads"


def _pipelined(target: Target) -> str:
    """Send requests ahead, without end, and read the answers without care."""
    batch = request("/livez", method="GET") * 500
    until_s = time.monotonic() + LONG_S
    with connect(target.address) as sock:
        over = threading.Event()
        reader = threading.Thread(target=_read_all, args=(sock, over))
        reader.start()
        with contextlib.suppress(OSError):
            while time.monotonic() < until_s:
                sock.sendall(batch)
        over.set()
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)
        join(reader)
    return "read"


def _read_all(sock: socket.socket, over: threading.Event) -> None:
    with contextlib.suppress(OSError):
        while not over.is_set() and sock.recv(MIB):
            pass


def _slow_body(target: Target) -> str:
    """Send a byte a second of a body, with a good key."""
    key = f"x-api-key: {target.gateway.api_key}"
    started_s = time.monotonic()
    with connect(target.address) as sock:
        sock.sendall(request("/v5/completions", key, "content-length: 100000"))
        sock.settimeout(1)
        said = b""
        while time.monotonic() - started_s < 75 and not said:
            try:
                sock.sendall(b" ")
                said = sock.recv(1000)
            except TimeoutError:
                continue
            except OSError:
                break
        return f"{said[9:12].decode() or 'nothing'} after {time.monotonic() - started_s:.0f} s"


def _script_name(target: Target) -> str:
    raw = request("/x/metrics", "script_name: /x", method="GET")
    return _told(exchange(target.address, [raw]))


def _gzip_bomb(target: Target) -> str:
    return _ask(target, gzip.compress(b" " * 1024 * MIB, 9), "content-encoding: gzip")


def _members(target: Target) -> str:
    return _ask(target, gzip.compress(b"") * 400_000, "content-encoding: gzip")


def _one_byte_chunks(target: Target) -> str:
    key = f"x-api-key: {target.gateway.api_key}"
    head = request("/v5/completions", key, "transfer-encoding: chunked")
    return _told(exchange(target.address, [head, chunked(b" " * MIB + _field("1"), 1)]))


def _escapes() -> bytes:
    return ('{"model":"sim/m","prompt":"' + '\\"' * 4_500_000 + '"}').encode()


_FLOOD_HEAD = request("/v5/completions", "x-api-key: wrong", "content-length: 100000000000")
_CHUNKS_HEAD = request("/v5/completions", "x-api-key: wrong", "transfer-encoding: chunked")

ATTACKS: Mapping[str, Callable[[Target], str]] = {
    "nothing at all": lambda _: time.sleep(LONG_S) or "",  # type: ignore[func-returns-value]
    "a small request": _json(lambda: _field("1")),
    "401, then 100 GB of body": _endless(_FLOOD_HEAD, b"x" * MIB),
    "401, then chunks without end": _endless(_CHUNKS_HEAD, b"100000\r\n" + b"x" * MIB + b"\r\n"),
    "404, then 100 GB": _endless(request("/nowhere", "content-length: 100000000000"), b"x" * MIB),
    "GET /livez, then 100 GB": _endless(
        request("/livez", "content-length: 100000000000", method="GET"), b"x" * MIB
    ),
    "20 x 20 MiB with a bad key": _polite_floods,
    "10 MB of []": _json(lambda: _field("[" + "[]," * 3_300_000 + "[]]")),
    "10 MB of [[[[": _json(lambda: _field("[" * 5_000_000 + "]" * 5_000_000)),
    "800,000 keys": _json(lambda: _field("{" + ",".join(f'"{n}":1' for n in range(800_000)) + "}")),
    "3,000,000 empty strings": _json(lambda: _field("[" + '"",' * 3_000_000 + '""]')),
    "5,000,000 numbers": _json(lambda: _field("[" + "1," * 5_000_000 + "1]")),
    "1,000,000 token ids": _json(
        lambda: b'{"model":"sim/m","prompt":[' + b"1234," * 999_999 + b"1]}"
    ),
    "1,000,000 token ids, the last is text": _json(
        lambda: b'{"model":"sim/m","prompt":[' + b"1234," * 999_999 + b'"x"]}'
    ),
    "logit_bias of 250,000": _json(
        lambda: json.dumps(
            {"model": "sim/m", "prompt": "x", "logit_bias": {str(n): 1 for n in range(250_000)}}
        ).encode()
    ),
    "a prompt of 10 MB of text": _json(
        lambda: b'{"model":"sim/m","prompt":"' + b"a bc [d], " * 1_000_000 + b'"}'
    ),
    "a prompt of 4,500,000 escapes": _json(_escapes),
    "2,048 prompts": _json(
        lambda: json.dumps({"model": "sim/m", "prompt": ["word " * 900] * 2048}).encode()
    ),
    "128 samples of a prompt of 9 MB": _json(_fan_out),
    "a number of 1,000,000 digits": _json(lambda: _field("9" * 1_000_000)),
    "a gzip bomb of 1 GiB": _gzip_bomb,
    "400,000 empty gzip members": _members,
    "1,000,000 chunks of a byte": _one_byte_chunks,
    "pipelined requests without end": _pipelined,
    "4,000 half heads": _crowd(4000, b"GET /livez HTTP/1.1\r\nhost:"),
    "4,000 silent connections": _crowd(4000, b""),
    "4,000 idle connections": _crowd(4000, request("/livez", method="GET")),
    "500 heads that grow by a byte": _dripping_heads,
    "a header SCRIPT_NAME": _script_name,
    "a slow body with a good key": _slow_body,
}
