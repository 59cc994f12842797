"""Errors of vendor calls."""

from collections.abc import Mapping
from typing import Literal

from app.vocabulary.errors.base import SHOULD_RETRY, TollgateError

#: The code of a rejection for which the vendor named none.
VENDOR_REJECTED = "vendor_rejected"


class GatewayError(TollgateError):
    """A vendor call failed.

    `vendor_status` is the vendor's HTTP status, or None if there was no response.
    `billable` is true if the vendor may charge for work done before the failure.
    `vendor_message` is what the vendor said, without keys, for operators; None if it said nothing.
    """

    status = 502
    type = "vendor_error"
    code: str | None = "vendor_failed"
    acts = "the vendor, if a retry fails, too. The message has what the vendor said."

    def __init__(
        self,
        message: str,
        *,
        vendor_status: int | None = None,
        billable: bool = False,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, param=param, code=code, headers=headers)
        self.vendor_status = vendor_status
        self.billable = billable
        self.vendor_message: str | None = None


class VendorRejected(GatewayError):
    """The vendor rejects the request itself; its message, code and param are passed on."""

    status = 400
    type = "invalid_request_error"
    code = None
    acts = "the caller: correct what the vendor's message names."
    retry = "no"

    def __init__(
        self,
        message: str,
        *,
        vendor_status: int,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, vendor_status=vendor_status, param=param, code=code)
        self.status = 400 if vendor_status == 422 else vendor_status

    @property
    def anchor(self) -> str:
        """All rejections are explained at one heading, since their codes are the vendors' own."""
        return VENDOR_REJECTED


class WrongEndpoint(VendorRejected):
    """The vendor serves this model on its other endpoint, `wants`."""

    def __init__(
        self,
        message: str,
        *,
        wants: Literal["chat", "native"],
        vendor_status: int,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, vendor_status=vendor_status, param=param, code=code)
        self.wants = wants

    @classmethod
    def from_rejected(
        cls, error: VendorRejected, wants: Literal["chat", "native"]
    ) -> "WrongEndpoint":
        """Return a rejection as one that names the other endpoint."""
        status = error.vendor_status or error.status
        found = cls(
            error.message, wants=wants, vendor_status=status, param=error.param, code=error.code
        )
        found.headers = error.headers
        found.beside = error.beside
        found.vendor_message = error.vendor_message
        return found


class VendorAuthentication(GatewayError):
    """The vendor rejects Tollgate's credentials or billing; the caller cannot fix it by a retry."""

    code = "vendor_authentication"
    acts = "the operator: check the vendor's key and bill; `tollgate vendors --check` tells more."
    retry = "no"


class VendorRateLimited(GatewayError):
    """The vendor limits Tollgate's requests; `headers` holds its `retry-after`, if it sent one."""

    status = 429
    type = "rate_limit_error"
    code = "vendor_rate_limited"
    acts = "the operator: ask the vendor for higher limits. The caller: send less."
    retry = "later"


class VendorFailed(GatewayError):
    """The vendor sent an error or a malformed response, or closed the connection early."""

    code = "vendor_failed"


class VendorUnreachable(VendorFailed):
    """The vendor did not get the whole request: no connection, or one that closed too early."""

    code = "vendor_failed"


class VendorConnectTimeout(VendorUnreachable):
    """No connection was made in time; the DNS lookup counts."""

    status = 504
    code = "vendor_timeout"


class VendorMisconfigured(VendorUnreachable):
    """The vendor is unreachable as configured; for example, its certificate is not trusted."""

    code = "vendor_misconfigured"
    acts = "the operator: correct the vendor's entry, or what the message names."
    retry = "no"


class VendorOverloaded(GatewayError):
    """The vendor has no capacity at the moment."""

    status = 503
    code = "vendor_overloaded"


class VendorTimeout(GatewayError):
    """The vendor exceeded a deadline.

    If it may have begun to work, `x-should-retry: false` keeps clients from paying twice.
    """

    status = 504
    code = "vendor_timeout"

    def __init__(
        self,
        message: str,
        *,
        vendor_status: int | None = None,
        billable: bool = False,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        final = {SHOULD_RETRY: "false"} if billable else {}
        super().__init__(
            message,
            vendor_status=vendor_status,
            billable=billable,
            param=param,
            headers={**(headers or {}), **final},
        )


class Cancelled(Exception):
    """A call was cancelled because the client has disconnected. Nobody receives this error."""


class ShuttingDown(GatewayError):
    """The process shuts down, and cancelled the call when the grace period was over."""

    status = 503
    type = "server_error"
    code = "shutting_down"

    acts = "nobody: another process serves the retry."

    def __init__(self, *, billable: bool = False) -> None:
        super().__init__("This server is shutting down; try again.", billable=billable)
