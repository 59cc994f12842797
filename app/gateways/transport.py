"""All I/O with vendors: one HTTP call, its deadlines, and the errors that a network can make.

Knows no wire format. Foreign exceptions stop here.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import requests
import urllib3
from urllib3.exceptions import NewConnectionError

from app.errors import (
    GatewayError,
    ShuttingDown,
    VendorFailed,
    VendorTimeout,
    VendorUnreachable,
)
from app.gateways.base import Vendor, VendorRequest, authorization
from app.gateways.connections import Connections, Route
from app.gateways.credentials import SIGNERS
from app.gateways.http1 import Connection, decompressed, request_bytes
from app.gateways.watchdog import Watchdog
from app.sockets import shut_down

#: The most that an unstreamed answer may hold, in bytes.
ANSWER_LIMIT = 64 * 1024 * 1024

#: How long `probe` waits for an answer, in seconds.
PROBE_S = 10.0

Reason = Literal["deadline", "cancelled", "shutdown"]

#: What opening a connection and an exchange on it may raise.
FOREIGN = (urllib3.exceptions.HTTPError, OSError, ValueError)

#: What every request says where its vendor's entry does not.
DEFAULT_HEADERS = {"accept-encoding": "identity", "user-agent": "tollgate"}


# One for all calls: held for a moment, by each a few times, and dearer to make than to wait for.
_LOCK = threading.Lock()


class Cancelled(Exception):
    """The call was ended because nobody waits for its answer any more."""


class VendorCall:
    """One call to one vendor, which another thread may end at any time.

    `sent` says whether the request may have reached the vendor, and so may be billed.
    `deadline_s` is on the `time.monotonic()` clock; whoever reads the answer moves it on.
    """

    def __init__(
        self,
        connections: Connections,
        vendor: Vendor,
        request: VendorRequest,
        caller_left: Callable[[], bool] | None = None,
    ) -> None:
        self._connections = connections
        self._vendor = vendor
        self._request = request
        self._caller_left = caller_left
        self._route: Route | None = None
        self._connection: Connection | None = None
        self.ended: Reason | None = None
        self.sent = False
        self.deadline_s = time.monotonic() + vendor.timeouts.total_s

    @property
    def status(self) -> int:
        """The vendor's HTTP status."""
        return self._opened().status

    @property
    def headers(self) -> Mapping[str, str]:
        """The vendor's response headers; names in lower case."""
        return self._opened().headers

    def send(self) -> None:
        """Sign the request where its vendor wants that, send it, and wait for response headers.

        Raises: VendorUnreachable, VendorTimeout, VendorFailed, VendorAuthentication, Cancelled,
        ShuttingDown.
        """
        signer = SIGNERS.get(self._vendor.auth)
        request = signer.sign(self._vendor, self._request) if signer else self._request
        try:
            self._route = route = self._connections.route(request.url)
            message = _message(route, request)
            connection = self._connections.take(route, self._vendor.timeouts.connect_s)
            self._connected(connection)
            connection.send(message)
            connection.read_head()
        except FOREIGN as exc:
            raise self._translated(exc) from exc

    def packets(self) -> Iterator[bytes]:
        """Yield the body's bytes as they arrive, decompressed.

        Raises: as `send`.
        """
        connection = self._opened()
        encoding = connection.headers.get("content-encoding", "")
        packets = connection.packets()
        try:
            yield from decompressed(packets, encoding) if encoding else packets
        except FOREIGN as exc:
            raise self._translated(exc) from exc
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
        with _LOCK:
            if self.ended is None:
                self.ended = reason
            if self._connection is not None:
                shut_down(self._connection.sock)

    def close(self) -> None:
        """Have the connection kept, or closed when the answer was not read whole."""
        with _LOCK:
            connection, self._connection = self._connection, None
        if connection is None or self._route is None:
            return
        if self.ended:
            connection.close()
        else:
            self._connections.give_back(self._route, connection)

    def _connected(self, connection: Connection) -> None:
        """Take note of the connection, just before the request is written to it."""
        with _LOCK:
            self._connection = connection
            self._raise_if_ended()
            self.sent = True

    def _opened(self) -> Connection:
        if self._connection is None:
            raise RuntimeError("the call was not sent")
        return self._connection

    def _raise_if_ended(self) -> None:
        if self.ended == "cancelled":
            raise Cancelled
        if self.ended == "shutdown":
            raise ShuttingDown(billable=self.sent)
        if self.ended == "deadline":
            raise VendorTimeout(
                f"The vendor `{self._vendor.name}` did not answer in time.", billable=self.sent
            )

    def _translated(self, exc: Exception) -> GatewayError:
        """Return what the HTTP stack raised as ours.

        Raises: Cancelled, ShuttingDown, VendorTimeout when the call was ended, and this is why.
        """
        self._raise_if_ended()
        name = self._vendor.name
        refused = isinstance(exc, NewConnectionError)  # a kind of time-out, to urllib3
        if isinstance(exc, urllib3.exceptions.TimeoutError | TimeoutError) and not refused:
            return VendorTimeout(f"The vendor `{name}` did not answer in time.", billable=self.sent)
        if not self.sent:
            return VendorUnreachable(f"The vendor `{name}` cannot be reached.")
        return VendorFailed(f"The vendor `{name}` broke off the connection.", billable=True)


class Transport:
    """The process' connections to vendors, pooled by host."""

    def __init__(self, watchdog: Watchdog, env: Mapping[str, str]) -> None:
        self._watchdog = watchdog
        self._connections = Connections(env)

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
        call = VendorCall(self._connections, vendor, request, caller_left)
        self._watchdog.watch(call)
        try:
            yield call
        finally:
            self._watchdog.forget(call)
            call.close()


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


def _message(route: Route, request: VendorRequest) -> bytes:
    said = {name.lower(): value for name, value in request.headers.items()}
    length = {"content-length": str(len(request.body))}
    headers = {**route.headers, **DEFAULT_HEADERS, **said, **length}
    return request_bytes("POST", route.target, headers, request.body)
