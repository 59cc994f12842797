"""All I/O with vendors: one HTTP call, its deadlines, and the errors that a network can cause.

Does not depend on any vendor's API format. Errors of libraries are translated here.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import requests

from app.transport import failures
from app.transport.auth.schemes import authenticated
from app.transport.http1.content_coding import codings_in, decoded
from app.transport.http1.exchange import Exchange, packets
from app.transport.outgoing import OutgoingRequest
from app.transport.session import AdapterName, Destination, VendorSession
from app.transport.watchdog import Watchdog
from app.vendors.vendor import Vendor
from app.vocabulary.errors import (
    Cancelled,
    GatewayError,
    ShuttingDown,
    VendorFailed,
    VendorTimeout,
    VendorUnreachable,
)
from app.vocabulary.vendor_request import VendorRequest

#: Most bytes that are read of an error's body (some repeat the whole prompt first), and for how
#: long, in seconds.
ERROR_BODY_LIMIT = 1024 * 1024
ERROR_BODY_S = 5.0

Reason = Literal["deadline", "cancelled", "shutdown"]


class VendorCall:
    """One call to one vendor, which another thread may cancel at any time.

    `deadline_s` is on the `time.monotonic()` clock; the reader of the response extends it.
    """

    def __init__(
        self,
        session: VendorSession,
        vendor: Vendor,
        request: VendorRequest,
        client_disconnected: Callable[[], bool] | None = None,
    ) -> None:
        self._session = session
        self._vendor = vendor
        self._request = request
        self._client_disconnected = client_disconnected
        self._destination: Destination | None = None
        self._exchange: Exchange | None = None
        self._response: requests.Response | None = None
        self._may_be_sent = False
        self.cancelled: Reason | None = None
        self.deadline_s = time.monotonic() + vendor.timeouts.total_s
        self._limit: Callable[[], str] = lambda: f"total_s = {vendor.timeouts.total_s:g}"

    @property
    def status(self) -> int:
        """The vendor's HTTP status."""
        return self._received().status_code

    @property
    def is_success(self) -> bool:
        """Whether the status means that the body is a completion, not an error."""
        return 200 <= self._received().status_code < 300

    @property
    def headers(self) -> Mapping[str, str]:
        """The vendor's response headers; look them up in lower case."""
        return self._received().headers

    @property
    def sent(self) -> bool:
        """Whether the vendor may have received the whole request, and so may bill it."""
        if self._exchange is not None:
            return self._exchange.has_sent
        return self._response is not None or self._may_be_sent

    def wait_until(self, at_s: float, bound_s: float, limit: Callable[[], str]) -> None:
        """Set the deadline: `at_s`, by the timeout that `limit` names, at the latest `bound_s`."""
        self.deadline_s, self._limit = min(at_s, bound_s), limit

    def send(self) -> None:
        """Add credentials to the request, send it, and wait for the response headers.

        Raises: VendorUnreachable, VendorTimeout, VendorFailed, VendorAuthentication, Cancelled,
        ShuttingDown.
        """
        vendor, timeouts = self._vendor, self._vendor.timeouts
        request = self._request
        headers = authenticated(vendor, request)
        # Only requests' own adapter heeds the read timeout; the watchdog is more exact.
        silence_s = max(self.deadline_s - time.monotonic(), timeouts.idle_s)
        try:
            self._destination = to = self._session.destination(request.url)
            outgoing = OutgoingRequest("POST", to.url, headers, request.body, self._began)
            self._response = self._session.send(
                outgoing, timeout=(timeouts.connect_s, silence_s), **to.arguments
            )
        except failures.FOREIGN as exc:
            raise self._failure(exc) from exc
        if self.cancelled:
            self._raise_if_cancelled()

    def packets(self) -> Iterator[bytes]:
        """Yield the body's bytes as they arrive, decompressed.

        All that came before an error is yielded before it is raised.
        Raises: as `send`.
        """
        response = self._received()
        codings = codings_in(response.headers)
        body = packets(response.raw)
        try:
            yield from decoded(body, codings) if codings else body
        except failures.FOREIGN as exc:
            raise self._failure(exc) from exc
        self._raise_if_cancelled()

    def error_body(self) -> bytes:
        """Return what can be read of an error's body, within limits of size and time.

        The status is what matters: a body that cannot be read is not an error here.
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
        if self.cancelled == "cancelled":
            raise Cancelled
        if self.cancelled == "shutdown":
            raise ShuttingDown(billable=False)
        return b"".join(pieces)[:ERROR_BODY_LIMIT]

    def check(self, now_s: float) -> None:
        """Cancel the call if its deadline has passed or its client has disconnected.

        The watchdog calls this.
        """
        if now_s >= self.deadline_s:
            self.cancel("deadline")
        elif self._client_disconnected is not None and self._client_disconnected():
            self.cancel("cancelled")

    def cancel(self, reason: Reason) -> None:
        """Shut the connection down, from any thread; the thread that reads gets the error at once.

        requests' own adapter can do so only once the response headers have arrived.
        """
        if self.cancelled is None:
            self.cancelled = reason
        if self._exchange is not None:
            self._exchange.shutdown()
        elif self._response is not None:
            with contextlib.suppress(ValueError, RuntimeError, OSError):  # it was read to its end
                self._response.raw.shutdown()

    def close(self) -> None:
        """Return the connection to its pool, or close it if the response was not read whole."""
        if self._response is not None:
            self._response.close()

    def _began(self, exchange: Exchange) -> None:
        """Note the exchange, just before its request is sent."""
        self._exchange = exchange
        self._raise_if_cancelled()

    def _received(self) -> requests.Response:
        if self._response is None:
            raise RuntimeError("the call was not sent")
        return self._response

    def _raise_if_cancelled(self) -> None:
        if self.cancelled == "cancelled":
            raise Cancelled
        if self.cancelled == "shutdown":
            raise ShuttingDown(billable=self.sent)
        if self.cancelled == "deadline":
            raise VendorTimeout(
                f"The vendor `{self._vendor.name}` did not respond in time ({self._limit()}).",
                billable=self.sent,
            )

    def _failure(self, exc: Exception) -> GatewayError:
        """Return a library's error as ours.

        Raises: Cancelled, ShuttingDown, VendorTimeout if the error comes from a cancellation.
        """
        name, response, to = self._vendor.name, self._response, self._destination
        has_begun = self._exchange is not None or response is not None
        self._may_be_sent = has_begun or not (to is None or failures.surely_unsent(exc))
        self._raise_if_cancelled()
        if not self._may_be_sent:
            return failures.unreachable(name, exc, proxied=to is not None and to.is_proxied)
        if not self.sent:
            return VendorUnreachable(
                f"The vendor `{name}` closed the connection before it had the request."
            )
        status = None if response is None else response.status_code
        return failures.interrupted(name, exc, status)


class Transport:
    """The process's HTTP client, and the watchdog of its calls."""

    def __init__(
        self, watchdog: Watchdog, env: Mapping[str, str], adapter: AdapterName = "tollgate"
    ) -> None:
        self._watchdog = watchdog
        self._session = VendorSession(env, adapter)

    @contextlib.contextmanager
    def call(
        self,
        vendor: Vendor,
        request: VendorRequest,
        client_disconnected: Callable[[], bool] | None = None,
    ) -> Iterator[VendorCall]:
        """Make a call that is watched until the block ends, and then always closed.

        `client_disconnected` is called at intervals; the call is cancelled once it returns True.
        """
        call = VendorCall(self._session, vendor, request, client_disconnected)
        self._watchdog.watch(call)
        try:
            yield call
        finally:
            self._watchdog.forget(call)
            call.close()
