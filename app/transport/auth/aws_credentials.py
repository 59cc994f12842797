"""AWS's signatures, through botocore (the extra `aws`)."""

import contextlib
import importlib.util
import os
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from app.transport import connect_errors
from app.transport.auth.request_auth import Clock, CredentialsError, FailureCache
from app.transport.trust import trust_in
from app.vendors.vendor import Vendor
from app.vocabulary.vendor_request import VendorRequest


class AWSAuth:
    """Signature Version 4, or a Bedrock API key if the vendor's entry has one.

    botocore finds the credentials (variables, profile, container, instance) once for the process,
    and renews those that expire: one caller does so, while the others use the old ones.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._lock = threading.Lock()
        self._credentials: Any = None
        self._failure = FailureCache(clock)

    def headers(self, vendor: Vendor, request: VendorRequest) -> Mapping[str, str]:
        """Return the request's headers, signed for the region that the vendor's entry names."""
        try:
            _check_botocore()  # also for a key: parsing the response's stream needs it
            if vendor.api_key:
                return {**request.headers, "authorization": f"Bearer {vendor.api_key}"}
            credentials = _frozen(self._credentials or self._found())
        except CredentialsError as exc:
            raise exc.error(vendor) from exc
        return _signature_v4(credentials, vendor.quirks["region"], request)

    def _found(self) -> Any:
        """Return the process's credentials; a failure to find any is cached for a while.

        Raises: CredentialsError.
        """
        with self._lock:
            if self._credentials is None:
                self._failure.check()
                try:
                    self._credentials = _aws_credentials()
                except CredentialsError as exc:
                    self._failure.store(exc)
                    raise
            return self._credentials


def _check_botocore() -> None:
    if importlib.util.find_spec("botocore") is None:
        raise CredentialsError("botocore is not installed. Run: pip install -e '.[aws]'")


def _aws_credentials() -> Any:
    from botocore.session import Session  # noqa: PLC0415 - an extra

    with _aws_errors():
        session = Session()
        if session.get_config_variable("ca_bundle") is None:  # AWS's own setting overrides it
            path = trust_in(os.environ).path
            if path and os.path.isfile(path):  # botocore does not support directories
                session.set_config_variable("ca_bundle", path)
        credentials = session.get_credentials()
    if credentials is None:
        raise CredentialsError(
            "there are no AWS credentials: see AWS_ACCESS_KEY_ID, or AWS_BEARER_TOKEN_BEDROCK."
        )
    return credentials


def _frozen(credentials: Any) -> Any:
    """Return the current credentials, renewed if necessary."""
    with _aws_errors():
        return credentials.get_frozen_credentials()


@contextlib.contextmanager
def _aws_errors() -> Iterator[None]:
    """Translate the errors of botocore while it finds or renews credentials."""
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
        cause = "AWS did not issue or renew Tollgate's credentials."
        raise CredentialsError(cause, transient=True) from exc
    except SSLError as exc:
        why = connect_errors.reason(exc.kwargs.get("error", exc))
        raise CredentialsError(f"AWS issued no credentials: {why}.") from exc
    except (BotoCoreError, ClientError, OSError, ValueError) as exc:
        raise CredentialsError("there are no AWS credentials that work: see AWS_PROFILE.") from exc


def _signature_v4(credentials: Any, region: str, request: VendorRequest) -> dict[str, str]:
    """Return the request's headers, and those that sign it."""
    from botocore.auth import SigV4Auth  # noqa: PLC0415 - an extra
    from botocore.awsrequest import AWSRequest  # noqa: PLC0415

    signed = AWSRequest("POST", request.url, dict(request.headers), request.body)
    SigV4Auth(credentials, "bedrock", region).add_auth(signed)
    return dict(signed.headers.items())
