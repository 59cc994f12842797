"""All I/O with vendors: one HTTP call, its deadlines, and the errors that a network can make.

Knows no wire format. Foreign exceptions stop here.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import urllib3

from app.runtime.sockets import shut_down
from app.transport import connect_errors
from app.transport.auth.schemes import SIGNERS
from app.transport.http1.connection import Connection, request_bytes
from app.transport.http1.content_coding import decoded
from app.transport.http1.errors import BrokenAnswer
from app.transport.pool import Connections, Route
from app.transport.watchdog import Watchdog
from app.vendors.vendor import Vendor
from app.vocabulary.errors import (
    GatewayError,
    ShuttingDown,
    VendorConnectTimeout,
    VendorFailed,
    VendorMisconfigured,
    VendorTimeout,
    VendorUnreachable,
)
from app.vocabulary.vendor_request import VendorRequest

#: The most that is read of an error's body, in bytes (some repeat the whole prompt before they say
#: what is wrong with it), and for how long, in seconds.
ERROR_BODY_LIMIT = 1024 * 1024
ERROR_BODY_S = 5.0

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

    `deadline_s` is on the `time.monotonic()` clock; whoever reads the answer moves it on.
    """

    def __init__(
        self,
        connections: Connections,
        vendor: Vendor,
        request: VendorRequest,
        client_disconnected: Callable[[], bool] | None = None,
    ) -> None:
        self._connections = connections
        self._vendor = vendor
        self._request = request
        self._caller_left = client_disconnected
        self._route: Route | None = None
        self._connection: Connection | None = None
        self._used: Connection | None = None
        self._was_sent = False
        self.ended: Reason | None = None
        self.deadline_s = time.monotonic() + vendor.timeouts.total_s

    @property
    def status(self) -> int:
        """The vendor's HTTP status."""
        return self._opened().status

    @property
    def is_success(self) -> bool:
        """Whether the status says that the body is the answer, and not an error."""
        return 200 <= self._opened().status < 300

    @property
    def headers(self) -> Mapping[str, str]:
        """The vendor's response headers; names in lower case."""
        return self._opened().headers

    @property
    def sent(self) -> bool:
        """Whether the whole request may have reached the vendor, and so may be billed."""
        return self._was_sent or (self._used is not None and self._used.has_sent)

    def send(self) -> None:
        """Sign the request where its vendor wants that, send it, and wait for response headers.

        Raises: VendorUnreachable, VendorTimeout, VendorFailed, VendorAuthentication, Cancelled,
        ShuttingDown.
        """
        signer = SIGNERS.get(self._vendor.auth)
        request = signer.sign(self._vendor, self._request) if signer else self._request
        try:
            self._route = route = self._connections.route(request.url)
            message = message_to(route, request)
            connection = self._connections.take(route, self._vendor.timeouts.connect_s)
            self._connected(connection)
            connection.send(message)
            connection.read_head()
        except FOREIGN as exc:
            raise self._translated(exc) from exc
        if self.ended:
            self._raise_if_ended()

    def packets(self) -> Iterator[bytes]:
        """Yield the body's bytes as they arrive, decompressed.

        All that came before an error is yielded before it is raised.
        Raises: as `send`.
        """
        connection = self._opened()
        codings = connection.codings
        packets = connection.packets()
        try:
            yield from decoded(packets, codings) if codings else packets
        except FOREIGN as exc:
            raise self._translated(exc) from exc
        self._raise_if_ended()

    def error_body(self) -> bytes:
        """Return what can be read of an error's body, within bounds of size and time.

        The status is the answer: what is wrong with the body is no error here.
        Raises: Cancelled, ShuttingDown.
        """
        self.deadline_s = min(self.deadline_s, time.monotonic() + ERROR_BODY_S)
        pieces, size = [], 0
        with contextlib.suppress(VendorFailed, VendorTimeout, ShuttingDown, Cancelled):
            for packet in self.packets():
                pieces.append(packet)
                size += len(packet)
                if size >= ERROR_BODY_LIMIT:
                    break
        if self.ended == "cancelled":
            raise Cancelled
        if self.ended == "shutdown":
            raise ShuttingDown(billable=False)
        return b"".join(pieces)[:ERROR_BODY_LIMIT]

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
        self._used, self._was_sent = None, connection.has_sent
        if self.ended:
            connection.close()
        else:
            self._connections.give_back(self._route, connection)

    def _connected(self, connection: Connection) -> None:
        """Take note of the connection, just before the request is written to it."""
        with _LOCK:
            self._connection = self._used = connection
            connection.has_sent = False
            self._raise_if_ended()

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
        connection = self._used
        if connection is None:
            return _not_connected(self._vendor.name, self._route, exc)
        vendor = f"The vendor `{self._vendor.name}`"
        if not connection.has_sent:
            return VendorUnreachable(f"{vendor} closed the connection before it had the request.")
        status = connection.status or getattr(exc, "status", None)
        if isinstance(exc, TimeoutError):  # the system gave the connection up
            return VendorTimeout(f"{vendor} stopped answering.", billable=True)
        words = str(exc) if isinstance(exc, BrokenAnswer) else "broke off the connection"
        return VendorFailed(f"{vendor} {words}.", vendor_status=status, billable=True)


def _not_connected(name: str, route: Route | None, exc: Exception) -> GatewayError:
    why = connect_errors.reason(exc, proxied=route is not None and route.is_proxied)
    message = f"The vendor `{name}` cannot be reached: {why}."
    if connect_errors.is_final(exc):
        return VendorMisconfigured(message)
    if connect_errors.is_timeout(exc):
        return VendorConnectTimeout(message)
    return VendorUnreachable(message)


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
        client_disconnected: Callable[[], bool] | None = None,
    ) -> Iterator[VendorCall]:
        """Make a call that is watched until the block ends, and then always closed.

        `client_disconnected` is asked now and then, and ends the call when it says so.
        """
        call = VendorCall(self._connections, vendor, request, client_disconnected)
        self._watchdog.watch(call)
        try:
            yield call
        finally:
            self._watchdog.forget(call)
            call.close()


def message_to(route: Route, request: VendorRequest, method: str = "POST") -> bytes:
    """Return a request's bytes, with the headers that every vendor gets."""
    said = {name.lower(): value for name, value in request.headers.items()}
    length = {"content-length": str(len(request.body))}
    headers = {**route.headers, **DEFAULT_HEADERS, **said, **length}
    return request_bytes(method, route.target, headers, request.body)
