"""Signing requests for vendors whose credentials are more than a key in a header.

The cloud's own library finds the credentials and makes the signature; it is an extra, imported
only when such a vendor is called. Knows no wire format.
"""

import contextlib
import functools
import importlib.util
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from app.errors import GatewayError, VendorAuthentication, VendorUnreachable
from app.gateways.base import Vendor, VendorRequest

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

logger = logging.getLogger(__name__)


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


class GoogleSigner:
    """OAuth access tokens for Application Default Credentials.

    A token is used until minutes before it expires; then one caller renews it while the others go
    on with the old one. Only a token that is no longer good makes anyone wait.
    Source: google-auth's user guide; https://cloud.google.com/docs/authentication
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._credentials: Credentials | None = None
        self._failure: SignInFailed | None = None
        self._failed_at_s = 0.0

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
        if self._failure is not None and self._clock() < self._failed_at_s + FAILURE_STANDS_S:
            raise SignInFailed(self._failure.cause, passing=self._failure.passing)
        try:
            self._credentials = _refreshed(credentials)
        except SignInFailed as exc:
            if credentials is not None and not _usable(credentials):
                self._credentials = None  # look for others: somebody may have replaced the key
            self._failure, self._failed_at_s = exc, self._clock()
            raise
        self._failure = None
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
        post = google.auth.transport.requests.Request()
        bounded = functools.partial(post, timeout=TOKEN_TIMEOUT_S)
        credentials.refresh(bounded)  # type: ignore[no-untyped-call]
    except TransportError as exc:
        raise SignInFailed("Google's token endpoint does not answer.", passing=True) from exc
    except RefreshError as exc:
        cause = "Google gave no access token for this gateway's credentials."
        raise SignInFailed(cause, passing=exc.retryable) from exc
    except (GoogleAuthError, OSError) as exc:
        cause = "there are no Google credentials that work: see GOOGLE_APPLICATION_CREDENTIALS."
        raise SignInFailed(cause) from exc
    except (TypeError, ValueError, LookupError, AttributeError) as exc:
        raise SignInFailed("Google's token endpoint sent nonsense.", passing=True) from exc
    return credentials


class AWSSigner:
    """Signature Version 4, or a Bedrock API key instead where the vendor's entry has one.

    botocore finds the credentials (variables, profile, container, instance) once for the process,
    and renews those that expire: one caller does while the others go on with the old ones.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._credentials: Any = None
        self._failure: SignInFailed | None = None
        self._failed_at_s = 0.0

    def sign(self, vendor: Vendor, request: VendorRequest) -> VendorRequest:
        """Return the request, signed for the region that the vendor's entry names."""
        try:
            _check_botocore()  # with a key, too: the answer's stream needs it
            if vendor.api_key:
                bearer = {"authorization": f"Bearer {vendor.api_key}"}
                return replace(request, headers={**request.headers, **bearer})
            credentials = _frozen(self._credentials or self._found())
        except SignInFailed as exc:
            raise exc.error(vendor) from exc
        headers = _signature_v4(credentials, vendor.quirks["region"], request)
        return replace(request, headers=headers)

    def _found(self) -> Any:
        """Return the process' credentials; a failure to find any stands for a while.

        Raises: SignInFailed.
        """
        with self._lock:
            if self._credentials is None:
                failure = self._failure
                if failure is not None and self._clock() < self._failed_at_s + FAILURE_STANDS_S:
                    raise SignInFailed(failure.cause, passing=failure.passing)
                try:
                    self._credentials = _aws_credentials()
                except SignInFailed as exc:
                    self._failure, self._failed_at_s = exc, self._clock()
                    raise
            return self._credentials


def _check_botocore() -> None:
    if importlib.util.find_spec("botocore") is None:
        raise SignInFailed("botocore is not installed: install tollgate[aws].")


def _aws_credentials() -> Any:
    from botocore.session import Session  # noqa: PLC0415 - an extra

    with _aws_errors():
        credentials = Session().get_credentials()
    if credentials is None:
        raise SignInFailed(
            "there are no AWS credentials: see AWS_ACCESS_KEY_ID, or AWS_BEARER_TOKEN_BEDROCK."
        )
    return credentials


def _frozen(credentials: Any) -> Any:
    """Return what the credentials are now, renewed where they must be."""
    with _aws_errors():
        return credentials.get_frozen_credentials()


@contextlib.contextmanager
def _aws_errors() -> Iterator[None]:
    """Translate what botocore raises when it looks for credentials, or renews them."""
    from botocore.exceptions import (  # noqa: PLC0415 - an extra
        BotoCoreError,
        ClientError,
        CredentialRetrievalError,
        HTTPClientError,
    )

    try:
        yield
    except (CredentialRetrievalError, HTTPClientError, RuntimeError) as exc:
        cause = "AWS did not give or renew this gateway's credentials."
        raise SignInFailed(cause, passing=True) from exc
    except (BotoCoreError, ClientError, OSError, ValueError) as exc:
        raise SignInFailed("there are no AWS credentials that work: see AWS_PROFILE.") from exc


def _signature_v4(credentials: Any, region: str, request: VendorRequest) -> dict[str, str]:
    """Return the request's headers, with those that sign it."""
    from botocore.auth import SigV4Auth  # noqa: PLC0415 - an extra
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415

    signed = AWSRequest("POST", request.url, dict(request.headers), request.body)
    SigV4Auth(credentials, "bedrock", region).add_auth(signed)
    return dict(signed.headers.items())


#: By a vendor's `auth`.
SIGNERS: Mapping[str, Signer] = {"google": GoogleSigner(), "aws": AWSSigner()}
