"""All I/O with vendors: one HTTP call, its deadlines, and the errors that a network can make.

Knows no wire format. Foreign exceptions stop here.
"""

import contextlib
import contextvars
import functools
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import requests
import urllib3
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import get_environ_proxies
from urllib3.connection import HTTPConnection, HTTPSConnection

from app.errors import (
    GatewayError,
    ShuttingDown,
    VendorFailed,
    VendorTimeout,
    VendorUnreachable,
)
from app.gateways.base import Timeouts, Vendor, VendorRequest, authorization
from app.gateways.credentials import SIGNERS
from app.gateways.watchdog import Watchdog
from app.sockets import peek, shut_down

#: Most that is read at once, and the most that an unstreamed answer may hold, in bytes.
PACKET_BYTES = 64 * 1024
ANSWER_LIMIT = 64 * 1024 * 1024

#: How long `probe` waits for an answer, in seconds.
PROBE_S = 10.0

Reason = Literal["deadline", "cancelled", "shutdown"]

_current: contextvars.ContextVar["VendorCall"] = contextvars.ContextVar("vendor_call")


class Cancelled(Exception):
    """The call was ended because nobody waits for its answer any more."""


class VendorCall:
    """One call to one vendor, which another thread may end at any time.

    `sent` says whether the request may have reached the vendor, and so may be billed.
    `deadline_s` is on the `time.monotonic()` clock; whoever reads the answer moves it on.
    """

    def __init__(
        self,
        send: Callable[[requests.PreparedRequest], requests.Response],
        vendor: Vendor,
        request: VendorRequest,
        caller_left: Callable[[], bool] | None = None,
    ) -> None:
        self._send = send
        self._vendor = vendor
        self._request = request
        self._caller_left = caller_left
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._response: requests.Response | None = None
        self.ended: Reason | None = None
        self.sent = False
        self.deadline_s = time.monotonic() + vendor.timeouts.total_s

    @property
    def status(self) -> int:
        """The vendor's HTTP status."""
        return self._opened().status_code

    @property
    def headers(self) -> Mapping[str, str]:
        """The vendor's response headers; names in any case."""
        return self._opened().headers

    def send(self) -> None:
        """Sign the request where its vendor wants that, send it, and wait for response headers.

        Raises: VendorUnreachable, VendorTimeout, VendorFailed, VendorAuthentication, Cancelled,
        ShuttingDown.
        """
        signer = SIGNERS.get(self._vendor.auth)
        request = signer.sign(self._vendor, self._request) if signer else self._request
        token = _current.set(self)
        try:
            with self._errors():
                self._response = self._send(_prepared(request))
        finally:
            _current.reset(token)

    def packets(self) -> Iterator[bytes]:
        """Yield the body's bytes as they arrive, decompressed.

        Raises: as `send`.
        """
        raw = self._opened().raw
        with self._errors():
            # read1 returns what one packet brought; read and stream wait for a full buffer.
            while packet := raw.read1(PACKET_BYTES, decode_content=True):
                yield packet
        with self._lock:
            self._socket = None  # read whole, so the pool has the connection again
        self._raise_if_ended()

    def body(self) -> bytes:
        """Return the whole body.

        Raises: as `send`; VendorFailed when it is larger than ANSWER_LIMIT.
        """
        pieces, size = [], 0
        for packet in self.packets():
            size += len(packet)
            if size > ANSWER_LIMIT:
                raise VendorFailed(f"The vendor `{self._vendor.name}` sent too large an answer.")
            pieces.append(packet)
        return b"".join(pieces)

    def check(self, now_s: float) -> None:
        """End the call if its deadline has passed or its caller has left (the watchdog's call)."""
        if now_s >= self.deadline_s:
            self.end("deadline")
        elif self._caller_left is not None and self._caller_left():
            self.end("cancelled")

    def end(self, reason: Reason) -> None:
        """Cut the connection, from any thread; whoever waits for it gets the error at once."""
        with self._lock:
            if self.ended is None:
                self.ended = reason
            if self._socket is not None:
                shut_down(self._socket)

    def close(self) -> None:
        """Give the connection back to the pool, or close it when the answer was not read whole."""
        with self._lock:
            self._socket = None
        if self._response is not None:
            self._response.close()

    def connected(self, sock: socket.socket | None) -> None:
        """Take note of the connection, just before the request is written to it."""
        with self._lock:
            self._raise_if_ended()
            self.sent = True
            self._socket = sock

    def _opened(self) -> requests.Response:
        if self._response is None:
            raise RuntimeError("the call was not sent")
        return self._response

    def _raise_if_ended(self) -> None:
        if self.ended == "cancelled":
            raise Cancelled
        if self.ended == "shutdown":
            raise ShuttingDown(billable=self.sent)
        if self.ended == "deadline":
            raise VendorTimeout(
                f"The vendor `{self._vendor.name}` did not answer in time.", billable=self.sent
            )

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Translate what the HTTP stack raises, in the handshake as in the last packet."""
        try:
            yield
        except (
            requests.RequestException,
            urllib3.exceptions.HTTPError,
            OSError,
            ValueError,
        ) as exc:
            self._raise_if_ended()
            raise self._translated(exc) from exc

    def _translated(self, exc: Exception) -> GatewayError:
        name = self._vendor.name
        if isinstance(exc, requests.Timeout | urllib3.exceptions.TimeoutError | TimeoutError):
            return VendorTimeout(f"The vendor `{name}` did not answer in time.", billable=self.sent)
        if not self.sent:
            return VendorUnreachable(f"The vendor `{name}` cannot be reached.")
        return VendorFailed(f"The vendor `{name}` broke off the connection.", billable=True)


class Transport:
    """The process' connections to vendors, pooled by host."""

    def __init__(self, watchdog: Watchdog, env: Mapping[str, str], pool_size: int = 1000) -> None:
        self._watchdog = watchdog
        self._adapter = HTTPAdapter(pool_connections=64, pool_maxsize=pool_size, max_retries=0)
        self._adapter.poolmanager.pool_classes_by_scheme = {"http": _HTTPPool, "https": _HTTPSPool}
        self._verify = env.get("REQUESTS_CA_BUNDLE") or True
        self._senders: dict[str, Callable[[requests.PreparedRequest], requests.Response]] = {}

    @contextlib.contextmanager
    def call(
        self,
        vendor: Vendor,
        request: VendorRequest,
        caller_left: Callable[[], bool] | None = None,
    ) -> Iterator[VendorCall]:
        """Make a call that is watched until the block ends, and then always closed.

        `caller_left` is asked now and then, and ends the call when it says so.
        """
        call = VendorCall(self._sender(vendor), vendor, request, caller_left)
        self._watchdog.watch(call)
        try:
            yield call
        finally:
            self._watchdog.forget(call)
            call.close()

    def _sender(self, vendor: Vendor) -> Callable[[requests.PreparedRequest], requests.Response]:
        sender = self._senders.get(vendor.name)
        if sender is None:
            sender = self._senders[vendor.name] = functools.partial(
                self._adapter.send,
                stream=True,
                timeout=(vendor.timeouts.connect_s, vendor.timeouts.total_s),
                verify=self._verify,
                proxies=get_environ_proxies(vendor.base_url),
            )
        return sender


def probe(vendor: Vendor) -> tuple[int | None, str]:
    """Ask a vendor for its list of models, which costs nothing; return the status, or why not.

    For people who set a deployment up: no caller waits for it, and nothing is recorded.
    """
    request = VendorRequest(
        f"{vendor.base_url}/models", {**authorization(vendor), **vendor.headers}, b""
    )
    try:
        if vendor.auth in SIGNERS:
            request = SIGNERS[vendor.auth].sign(vendor, request)
        answer = requests.get(
            request.url,
            headers=dict(request.headers),
            timeout=(vendor.timeouts.connect_s, PROBE_S),
            allow_redirects=False,
        )
    except (requests.RequestException, GatewayError) as exc:
        return None, type(exc).__name__
    return answer.status_code, ""


def deadline_after(timeouts: Timeouts, started_s: float, now_s: float, first: bool) -> float:
    """Return until when a stream's next chunk must come; monotonic seconds."""
    step_s = timeouts.first_token_s if first else timeouts.idle_s
    return min(started_s + timeouts.total_s, now_s + step_s)


def _prepared(request: VendorRequest) -> requests.PreparedRequest:
    # Built by hand: `Session.post` costs twice as much and adds nothing that a gateway needs.
    prepared = requests.PreparedRequest()
    prepared.method = "POST"
    prepared.url = request.url
    prepared.body = request.body
    prepared.hooks = {"response": []}
    prepared.headers = CaseInsensitiveDict(request.headers)
    prepared.headers.setdefault("accept-encoding", "identity")
    prepared.headers.setdefault("user-agent", "tollgate")
    prepared.headers["content-length"] = str(len(request.body))
    return prepared


class _Noted:
    """Tells the current call which socket its request goes out on."""

    sock: Any

    @property
    def is_connected(self) -> bool:
        """Whether a pooled connection can be used again: open, and nothing waits on it.

        urllib3 asks `poll`, at ten times the cost.
        """
        return self.sock is not None and peek(self.sock) is None

    def request(self, *args: Any, **kwargs: Any) -> None:
        if self.sock is not None:  # from the pool, or through a proxy's tunnel
            _note(self.sock)
        super().request(*args, **kwargs)  # type: ignore[misc]

    def connect(self) -> None:
        super().connect()  # type: ignore[misc]
        _note(self.sock)


def _note(sock: socket.socket | None) -> None:
    call = _current.get(None)
    if call is not None:
        call.connected(sock)


class _HTTPConnection(_Noted, HTTPConnection):
    pass


class _HTTPSConnection(_Noted, HTTPSConnection):
    pass


class _HTTPPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _HTTPConnection


class _HTTPSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _HTTPSConnection
