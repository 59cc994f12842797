"""Google's access tokens, through google-auth (the extra `google`)."""

import functools
import logging
import os
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import requests

from app.transport import connect_errors
from app.transport.auth.request_auth import Clock, LastFailure, SignInFailed
from app.transport.trust import trust_in
from app.vendors.vendor import Vendor
from app.vocabulary.vendor_request import VendorRequest

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

logger = logging.getLogger(__name__)


class GoogleSigner:
    """OAuth access tokens for Application Default Credentials.

    A token is used until minutes before it expires; then one caller renews it while the others go
    on with the old one. Only a token that is no longer good makes anyone wait.
    Source: google-auth's user guide; https://cloud.google.com/docs/authentication
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._credentials: Credentials | None = None
        self._failure = LastFailure(clock)

    def sign(self, vendor: Vendor, request: VendorRequest) -> VendorRequest:
        """Return the request with a bearer token, and with the project that pays if it says so."""
        headers = dict(request.headers)
        try:
            self._fresh().apply(headers)  # type: ignore[no-untyped-call]
        except SignInFailed as exc:
            raise exc.error(vendor) from exc
        return replace(request, headers=headers)

    def _fresh(self) -> "Credentials":
        credentials = self._credentials
        if credentials is None or not _usable(credentials):
            with self._lock:
                return self._renewed()
        if not credentials.valid and self._lock.acquire(blocking=False):
            try:
                self._renewed()
            except SignInFailed as exc:  # the old token is good for some minutes yet
                logger.warning("Google's access token could not be renewed: %s", exc.cause)
            finally:
                self._lock.release()
        return credentials

    def _renewed(self) -> "Credentials":
        """Return valid credentials, whoever renewed them; the lock is held."""
        credentials = self._credentials
        if credentials is not None and credentials.valid:
            return credentials
        self._failure.check()
        try:
            self._credentials = _refreshed(credentials)
        except SignInFailed as exc:
            if credentials is not None and not _usable(credentials):
                self._credentials = None  # look for others: somebody may have replaced the key
            self._failure.note(exc)
            raise
        return self._credentials


#: How long one attempt to get a token may take; the library makes up to three.
TOKEN_TIMEOUT_S = 10.0

SCOPE = "https://www.googleapis.com/auth/cloud-platform"


def _usable(credentials: "Credentials") -> bool:
    from google.auth.credentials import TokenState  # noqa: PLC0415 - an extra

    return credentials.token_state is not TokenState.INVALID


def _refreshed(credentials: "Credentials | None") -> "Credentials":
    """Find credentials, unless there are some, and get a token for them.

    Raises: SignInFailed.
    """
    try:
        import google.auth.transport.requests  # noqa: PLC0415 - an extra
        from google.auth.exceptions import (  # noqa: PLC0415
            GoogleAuthError,
            RefreshError,
            TransportError,
        )
    except ImportError as exc:
        raise SignInFailed("google-auth is not installed: install tollgate[google].") from exc
    try:
        if credentials is None:
            credentials, _ = google.auth.default(scopes=[SCOPE])
        post = google.auth.transport.requests.Request(_session())
        bounded = functools.partial(post, timeout=TOKEN_TIMEOUT_S)
        credentials.refresh(bounded)  # type: ignore[no-untyped-call]
    except TransportError as exc:
        why = connect_errors.reason(exc)
        cause = f"Google's token endpoint does not answer: {why}."
        raise SignInFailed(cause, passing=not connect_errors.is_final(exc)) from exc
    except RefreshError as exc:
        cause = "Google gave no access token for this gateway's credentials."
        raise SignInFailed(cause, passing=exc.retryable) from exc
    except (GoogleAuthError, OSError) as exc:
        cause = "there are no Google credentials that work: see GOOGLE_APPLICATION_CREDENTIALS."
        raise SignInFailed(cause) from exc
    except (TypeError, ValueError, LookupError, AttributeError) as exc:
        raise SignInFailed("Google's token endpoint sent nonsense.", passing=True) from exc
    return credentials


def _session() -> requests.Session:
    """Return the session that asks for tokens; it trusts whom calls to vendors trust."""
    session = requests.Session()
    session.verify = trust_in(os.environ).verify
    return session
