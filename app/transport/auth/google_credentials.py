"""Google's access tokens, through google-auth (the extra `google`)."""

import functools
import logging
import os
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import requests

from app.transport import connect_errors
from app.transport.auth.request_auth import Clock, CredentialsError, FailureCache
from app.transport.trust import trust_in
from app.vendors.vendor import Vendor
from app.vocabulary.vendor_request import VendorRequest

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

logger = logging.getLogger(__name__)


class GoogleAuth:
    """OAuth access tokens for Application Default Credentials.

    Some minutes before a token expires, one caller renews it, while the others use the old one.
    Callers wait only if the token is no longer valid.
    Source: google-auth's user guide; https://cloud.google.com/docs/authentication
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._credentials: Credentials | None = None
        self._failure = FailureCache(clock)

    def headers(self, vendor: Vendor, request: VendorRequest) -> Mapping[str, str]:
        """Return the request's headers with a bearer token, and the quota project if any."""
        headers = dict(request.headers)
        try:
            self._fresh().apply(headers)  # type: ignore[no-untyped-call]
        except CredentialsError as exc:
            raise exc.error(vendor) from exc
        return headers

    def _fresh(self) -> "Credentials":
        credentials = self._credentials
        if credentials is None or not _usable(credentials):
            with self._lock:
                return self._renewed()
        if not credentials.valid and self._lock.acquire(blocking=False):
            try:
                self._renewed()
            except CredentialsError as exc:  # the old token is valid for some more minutes
                logger.warning("Google's access token could not be renewed: %s", exc.cause)
            finally:
                self._lock.release()
        return credentials

    def _renewed(self) -> "Credentials":
        """Return valid credentials, renewed if no other thread has done so; the lock is held."""
        credentials = self._credentials
        if credentials is not None and credentials.valid:
            return credentials
        self._failure.check()
        try:
            self._credentials = _refreshed(credentials)
        except CredentialsError as exc:
            if credentials is not None and not _usable(credentials):
                self._credentials = None  # search again: the key may have been replaced
            self._failure.store(exc)
            raise
        return self._credentials


#: How long one attempt to get a token may take; the library makes up to three.
TOKEN_TIMEOUT_S = 10.0

SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def _usable(credentials: "Credentials") -> bool:
    from google.auth.credentials import TokenState  # noqa: PLC0415 - an extra

    return credentials.token_state is not TokenState.INVALID


def _refreshed(credentials: "Credentials | None") -> "Credentials":
    """Get a token for the credentials, or for those that Google's library finds.

    Raises: CredentialsError.
    """
    try:
        import google.auth.transport.requests  # noqa: PLC0415 - an extra
        from google.auth.exceptions import GoogleAuthError  # noqa: PLC0415
    except ImportError as exc:
        raise CredentialsError(
            "google-auth is not installed. Run: pip install -e '.[google]'"
        ) from exc
    try:
        if credentials is None:
            credentials, _ = google.auth.default(scopes=[SCOPE])
        post = google.auth.transport.requests.Request(_session())
        bounded = functools.partial(post, timeout=TOKEN_TIMEOUT_S)
        credentials.refresh(bounded)  # type: ignore[no-untyped-call]
    except (GoogleAuthError, OSError, *_MALFORMED) as exc:
        raise _failure(exc) from exc
    return credentials


#: What Google's library raises for a response whose JSON is not what it expects.
_MALFORMED = (TypeError, ValueError, LookupError, AttributeError)


def _failure(exc: Exception) -> CredentialsError:
    """Return the error that an exception of Google's library means."""
    from google.auth.exceptions import (  # noqa: PLC0415 - an extra
        GoogleAuthError,
        RefreshError,
        TransportError,
    )

    if isinstance(exc, TransportError):
        cause = f"Google's token endpoint does not respond: {connect_errors.reason(exc)}."
        return CredentialsError(cause, transient=not connect_errors.is_final(exc))
    if isinstance(exc, RefreshError):
        cause = "Google issued no access token for Tollgate's credentials."
        return CredentialsError(cause, transient=exc.retryable)
    if isinstance(exc, GoogleAuthError | OSError):
        cause = "there are no Google credentials that work: see GOOGLE_APPLICATION_CREDENTIALS."
        return CredentialsError(cause)
    return CredentialsError("Google's token endpoint sent a malformed response.", transient=True)


def _session() -> requests.Session:
    """Return the session for token requests; it trusts the same certificates as vendor calls."""
    session = requests.Session()
    session.verify = trust_in(os.environ).verify
    return session
