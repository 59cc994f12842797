"""What the clouds' authentication has in common.

The cloud's own library finds the credentials and makes signatures and tokens. It is an extra, and
imported only when such a vendor is called. Does not depend on any cloud.
"""

import time
from collections.abc import Callable, Mapping
from typing import Protocol

from app.vendors.vendor import Vendor
from app.vocabulary.errors import GatewayError, VendorAuthentication, VendorUnreachable
from app.vocabulary.vendor_request import VendorRequest

Clock = Callable[[], float]


class RequestAuth(Protocol):
    """Authenticates requests to one cloud; shared by all threads."""

    def headers(self, vendor: Vendor, request: VendorRequest) -> Mapping[str, str]:
        """Return the request's headers with credentials.

        Raises: VendorAuthentication if there are no credentials, or their extra is not installed;
        VendorUnreachable if they cannot be renewed at the moment. Nothing has been sent then.
        """
        ...


class CredentialsError(Exception):
    """There are no credentials.

    `cause` is a sentence without secrets. `transient` means that a later attempt may succeed.
    """

    def __init__(self, cause: str, *, transient: bool = False) -> None:
        super().__init__(cause)
        self.cause = cause
        self.transient = transient

    def error(self, vendor: Vendor) -> GatewayError:
        """Return the error for a caller of `vendor`."""
        message = f"The vendor `{vendor.name}` cannot be called: {self.cause}"
        if self.transient:
            return VendorUnreachable(message)
        return VendorAuthentication(message, vendor_status=None)


#: How long a failure is repeated without another attempt, in seconds, so that callers do not queue
#: for the next one.
FAILURE_CACHE_S = 5.0


class FailureCache:
    """The last failure to get credentials; guarded by the lock of its RequestAuth."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._failure: CredentialsError | None = None
        self._failed_at_s = 0.0

    def store(self, failure: CredentialsError) -> None:
        """Repeat `failure` from now on."""
        self._failure, self._failed_at_s = failure, self._clock()

    def check(self) -> None:
        """Raise the last failure again if it is recent.

        Raises: CredentialsError.
        """
        failure = self._failure
        if failure is not None and self._clock() < self._failed_at_s + FAILURE_CACHE_S:
            raise CredentialsError(failure.cause, transient=failure.transient)
