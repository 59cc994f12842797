"""Looks up host names, such that a name server that hangs delays calls to its own hosts only.

A process has few threads for lookups (ten, under gevent), and a lookup that hangs blocks its thread
for half a minute. So callers of the same host share a lookup. The system's resolver does the work,
because only it supports /etc/hosts, search domains and nsswitch.conf.
"""

import ipaddress
import socket
import threading
import time
from collections import Counter
from typing import Any

from urllib3.util.connection import allowed_gai_family

#: Lookups of one host that may be in flight. The second starts when the first is this old, in
#: seconds: the name server may have recovered since.
LOOK_UPS_LIMIT = 2
SLOW_S = 2.0

#: As `socket.getaddrinfo` returns them: family, kind, protocol, canonical name, address.
Address = tuple[int, int, int, str, tuple[Any, ...]]


class LookUpTimeout(TimeoutError):
    """The host was not looked up in time."""


class _Question:
    """A lookup of one host, which one or more callers wait for."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.asked_at_s = float("-inf")
        self.addresses: list[Any] = []
        self.error: tuple[Any, ...] | None = None


class Resolver:
    """Looks hosts up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._questions: dict[str, _Question] = {}
        self._in_flight: Counter[str] = Counter()

    def addresses(self, host: str, port: int, timeout_s: float) -> list[Address]:
        """Return the addresses of `host`, the best first; at least one.

        Raises: LookUpTimeout; socket.gaierror.
        """
        if literal := _literal(host):
            return [(literal, socket.SOCK_STREAM, 0, "", (host, port))]
        question = self._ask(host)
        if not question.done.wait(timeout_s):
            raise LookUpTimeout
        if question.error is not None:
            raise socket.gaierror(*question.error)
        return [
            (family, kind, protocol, name, (address[0], port, *address[2:]))
            for family, kind, protocol, name, address in question.addresses
        ]

    def _ask(self, host: str) -> _Question:
        with self._lock:
            question = self._questions.setdefault(host, _Question())
            now_s = time.monotonic()
            is_slow = now_s - question.asked_at_s >= SLOW_S
            if is_slow and self._in_flight[host] < LOOK_UPS_LIMIT:
                question.asked_at_s = now_s
                self._in_flight[host] += 1
                name = f"look-up-{host}"
                threading.Thread(target=self._look_up, args=(host,), name=name, daemon=True).start()
            return question

    def _look_up(self, host: str) -> None:
        found, error = [], None
        try:
            found = socket.getaddrinfo(host, None, allowed_gai_family(), socket.SOCK_STREAM)
        except OSError as exc:
            error = exc.args
        except UnicodeError:  # a label that is empty or too long
            error = (socket.EAI_NONAME, "not a host name")
        if not found and error is None:
            error = (socket.EAI_NONAME, "no address")
        with self._lock:
            self._in_flight[host] -= 1
            if not self._in_flight[host]:
                del self._in_flight[host]
            question = self._questions.pop(host, None)
        if question is not None:  # otherwise another lookup has answered it
            question.addresses, question.error = found, error
            question.done.set()


def _literal(host: str) -> int | None:
    """Return the address family if `host` is an address, otherwise None."""
    try:
        version = ipaddress.ip_address(host).version
    except ValueError:
        return None
    return socket.AF_INET if version == 4 else socket.AF_INET6
