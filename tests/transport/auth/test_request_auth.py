"""Credentials that cannot be had: the caller's error, and how long the failure is repeated."""

import pytest

from app.transport.auth.request_auth import FAILURE_CACHE_S, CredentialsError, FailureCache
from app.vendors.vendor import Vendor
from app.vocabulary.errors import VendorAuthentication, VendorUnreachable

VENDOR = Vendor(name="cloud", gateway="gemini", base_url="https://v.example")


@pytest.mark.parametrize(
    ("transient", "kind"), [(False, VendorAuthentication), (True, VendorUnreachable)]
)
def test_a_call_without_credentials_is_not_billed_and_retried_only_if_that_may_help(
    transient: bool, kind: type[Exception]
) -> None:
    error = CredentialsError("there are none.", transient=transient).error(VENDOR)
    assert type(error) is kind
    assert error.message == "The vendor `cloud` cannot be called: there are none."
    assert not error.billable


@pytest.mark.parametrize("transient", [False, True])
def test_a_failure_is_repeated_for_a_while(transient: bool) -> None:
    now_s = 1000.0
    failure = FailureCache(lambda: now_s)
    failure.check()
    failure.store(CredentialsError("there are none.", transient=transient))
    now_s += FAILURE_CACHE_S - 0.1
    with pytest.raises(CredentialsError, match="there are none") as caught:
        failure.check()
    assert caught.value.transient is transient
    now_s += 0.1
    failure.check()
