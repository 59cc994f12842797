"""Signing in to vendors whose credentials are more than a key in a header.

The cloud's own library finds the credentials and makes the signature; it is an extra, imported
only when such a vendor is called. Knows no cloud and no wire format.
"""

import time
from collections.abc import Callable
from typing import Protocol

from app.vendors.vendor import Vendor
from app.vocabulary.errors import GatewayError, VendorAuthentication, VendorUnreachable
from app.vocabulary.vendor_request import VendorRequest

Clock = Callable[[], float]


class Signer(Protocol):
    """One way to sign; shared by all threads."""

    def sign(self, vendor: Vendor, request: VendorRequest) -> VendorRequest:
        """Return the request with its credentials.

        Raises: VendorAuthentication when there are none, or their extra is not installed;
        VendorUnreachable when they cannot be renewed just now. Nothing has been sent then.
        """
        ...


class SignInFailed(Exception):
    """No credentials: `cause` is a sentence without secrets, `passing` says that it may pass."""

    def __init__(self, cause: str, *, passing: bool = False) -> None:
        super().__init__(cause)
        self.cause = cause
        self.passing = passing

    def error(self, vendor: Vendor) -> GatewayError:
        """Return what this means to a caller of `vendor`."""
        message = f"The vendor `{vendor.name}` cannot be called: {self.cause}"
        if self.passing:
            return VendorUnreachable(message)
        return VendorAuthentication(message, vendor_status=None)


#: How long a failure to sign in stands, so that callers do not queue up behind the attempts.
FAILURE_STANDS_S = 5.0


class LastFailure:
    """The last failure to sign in, as long as it stands; guarded by its signer's lock."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._failure: SignInFailed | None = None
        self._failed_at_s = 0.0

    def note(self, failure: SignInFailed) -> None:
        """Let `failure` stand from now on."""
        self._failure, self._failed_at_s = failure, self._clock()

    def check(self) -> None:
        """Raise the failure again while it stands.

        Raises: SignInFailed.
        """
        failure = self._failure
        if failure is not None and self._clock() < self._failed_at_s + FAILURE_STANDS_S:
            raise SignInFailed(failure.cause, passing=failure.passing)
