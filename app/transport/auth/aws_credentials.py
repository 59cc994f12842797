"""AWS' signatures, through botocore (the extra `aws`)."""

import contextlib
import importlib.util
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.transport import connect_errors
from app.transport.auth.request_auth import Clock, LastFailure, SignInFailed
from app.transport.trust import trust_in
from app.vendors.vendor import Vendor
from app.vocabulary.vendor_request import VendorRequest


class AWSSigner:
    """Signature Version 4, or a Bedrock API key instead where the vendor's entry has one.

    botocore finds the credentials (variables, profile, container, instance) once for the process,
    and renews those that expire: one caller does while the others go on with the old ones.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._credentials: Any = None
        self._failure = LastFailure(clock)

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
                self._failure.check()
                try:
                    self._credentials = _aws_credentials()
                except SignInFailed as exc:
                    self._failure.note(exc)
                    raise
            return self._credentials


def _check_botocore() -> None:
    if importlib.util.find_spec("botocore") is None:
        raise SignInFailed("botocore is not installed: install tollgate[aws].")


def _aws_credentials() -> Any:
    from botocore.session import Session  # noqa: PLC0415 - an extra

    with _aws_errors():
        session = Session()
        if session.get_config_variable("ca_bundle") is None:  # AWS' own setting comes first
            path = trust_in(os.environ).path
            if path and os.path.isfile(path):  # it knows no directories
                session.set_config_variable("ca_bundle", path)
        credentials = session.get_credentials()
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
        SSLError,
    )

    try:
        yield
    except (CredentialRetrievalError, HTTPClientError, RuntimeError) as exc:
        cause = "AWS did not give or renew this gateway's credentials."
        raise SignInFailed(cause, passing=True) from exc
    except SSLError as exc:
        why = connect_errors.reason(exc.kwargs.get("error", exc))
        raise SignInFailed(f"AWS gave no credentials: {why}.") from exc
    except (BotoCoreError, ClientError, OSError, ValueError) as exc:
        raise SignInFailed("there are no AWS credentials that work: see AWS_PROFILE.") from exc


def _signature_v4(credentials: Any, region: str, request: VendorRequest) -> dict[str, str]:
    """Return the request's headers, with those that sign it."""
    from botocore.auth import SigV4Auth  # noqa: PLC0415 - an extra
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415

    signed = AWSRequest("POST", request.url, dict(request.headers), request.body)
    SigV4Auth(credentials, "bedrock", region).add_auth(signed)
    return dict(signed.headers.items())
