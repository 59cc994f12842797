"""How a caller behaves on its connection while it sends a request and reads the answer."""

import contextlib
import random
import socket
import struct
import time
from collections.abc import Callable, Mapping

from tests.fuzz.requests import hostile, is_broken
from tests.fuzz.wire import PATIENCE_S, Said, connect, read_answer, request

Address = tuple[str, int]

#: Makes requests, each with a tag of its own.
Source = Callable[[], bytes]


def in_one_go(dice: random.Random, address: Address, source: Source) -> Said | None:  # noqa: ARG001
    """Send all, and read the answer."""
    raw = source()
    with connect(address) as sock:
        _send(sock, raw)
        if is_broken(raw):
            sock.shutdown(socket.SHUT_WR)
            _drain(sock)
            return None
        return read_answer(sock)


def in_pieces(dice: random.Random, address: Address, source: Source) -> Said | None:
    """Send some pieces with pauses, and read the answer."""
    raw = source()
    with connect(address) as sock:
        cuts = sorted(dice.randrange(len(raw) + 1) for _ in range(dice.randrange(1, 6)))
        for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True):
            if not _send(sock, raw[start:end]):
                break
            time.sleep(dice.random() * 0.05)
        if is_broken(raw):
            return None
        return read_answer(sock)


def half_closed(dice: random.Random, address: Address, source: Source) -> Said | None:  # noqa: ARG001
    """End the sending side, and wait for what comes."""
    with connect(address) as sock:
        if _send(sock, source()):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_WR)
        _drain(sock)
    return None


def leaving(dice: random.Random, address: Address, source: Source) -> Said | None:
    """Leave at any moment, in order or with a reset."""
    raw = source()
    with connect(address) as sock:
        whole = dice.random() < 0.5
        _send(sock, raw if whole else raw[: dice.randrange(len(raw) + 1)])
        if whole and dice.random() < 0.5:
            with contextlib.suppress(OSError):
                sock.recv(dice.randrange(1, 500))
        if dice.random() < 0.5:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return None


def pipelined(dice: random.Random, address: Address, source: Source) -> Said | None:
    """Send several requests ahead, and read what comes for a while."""
    live = request("/livez", method="GET")
    raws = [source() if dice.random() < 0.3 else live for _ in range(dice.randrange(2, 300))]
    with connect(address) as sock:
        _send(sock, b"".join(raws)[:2_000_000])
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_WR)
        _drain(sock)
    return None


def crowd(dice: random.Random, address: Address, source: Source) -> Said | None:
    """Open many connections, each with some of a request, and close them in one moment."""
    raw = source()[: dice.choice((0, 10, 60, 2000))]
    with contextlib.ExitStack() as stack:
        for _ in range(dice.randrange(10, 400)):
            with contextlib.suppress(OSError):
                sock = stack.enter_context(connect(address))
                sock.sendall(raw)
        time.sleep(dice.random())
    return None


def deaf(dice: random.Random, address: Address, source: Source) -> Said | None:
    """Send, and read nothing for a while."""
    with connect(address) as sock:
        sock.settimeout(1)
        with contextlib.suppress(OSError):
            sock.sendall(source())
        time.sleep(dice.random() * 2)
    return None


#: Each with how often it is taken.
BEHAVIOURS: Mapping[Callable[[random.Random, Address, Source], Said | None], int] = {
    in_one_go: 50,
    in_pieces: 20,
    half_closed: 8,
    leaving: 12,
    pipelined: 4,
    crowd: 1,
    deaf: 4,
}


def act(dice: random.Random, address: Address, api_key: str, tag: str) -> tuple[str, Said | None]:
    """Do one thing; return its name, and the answer where one was due."""
    (behave,) = dice.choices([*BEHAVIOURS], [*BEHAVIOURS.values()])
    count = 0

    def source() -> bytes:
        nonlocal count
        count += 1
        return hostile(dice, api_key, f"{tag}-{count}")

    return behave.__name__, behave(dice, address, source)


def _send(sock: socket.socket, raw: bytes) -> bool:
    try:
        sock.sendall(raw)
    except ConnectionError:  # answered already, and closed
        return False
    return True


def _drain(sock: socket.socket) -> None:
    until_s = time.monotonic() + PATIENCE_S
    with contextlib.suppress(OSError):
        while time.monotonic() < until_s and sock.recv(65536):
            pass
