"""The error tree: the status, type and code of each error."""

import inspect
from importlib import import_module

import pytest

from app.vocabulary import errors
from app.vocabulary.errors import (
    GatewayError,
    LimitReached,
    TollgateError,
    Unavailable,
    VendorAuthentication,
    VendorFailed,
    VendorMisconfigured,
    VendorRejected,
    VendorTimeout,
    WrongEndpoint,
)

#: Name -> status, type, code: the table of the public documentation.
CONTRACT = {
    "InvalidRequest": (400, "invalid_request_error", "invalid_value"),
    "InvalidJSON": (400, "invalid_request_error", "invalid_json"),
    "UnsupportedParameter": (400, "invalid_request_error", "unsupported_parameter"),
    "ModelNotFound": (404, "invalid_request_error", "model_not_found"),
    "RequestNotFound": (404, "invalid_request_error", "request_not_found"),
    "RequestTooLarge": (413, "invalid_request_error", "request_too_large"),
    "InvalidAPIKey": (401, "authentication_error", "invalid_api_key"),
    "AccountNotAllowed": (403, "permission_error", "account_not_allowed"),
    "AccountDisabled": (403, "permission_error", "account_disabled"),
    "ScopeMissing": (403, "permission_error", "scope_missing"),
    "VendorRateLimited": (429, "rate_limit_error", "vendor_rate_limited"),
    "VendorFailed": (502, "vendor_error", "vendor_failed"),
    "VendorUnreachable": (502, "vendor_error", "vendor_failed"),
    "VendorConnectTimeout": (504, "vendor_error", "vendor_timeout"),
    "VendorOverloaded": (503, "vendor_error", "vendor_overloaded"),
    "VendorTimeout": (504, "vendor_error", "vendor_timeout"),
    "StreamUnavailable": (503, "server_error", "accounting_unavailable"),
    "LedgerUnavailable": (503, "server_error", "ledger_unavailable"),
    "TollgateError": (500, "server_error", "internal_error"),
}

TREE = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, TollgateError)
}


@pytest.mark.parametrize("name", CONTRACT)
def test_an_error_is_openais_body_with_the_documented_status_type_and_code(name: str) -> None:
    error = TREE[name]("It went wrong.", param="n")
    status, type_, code = CONTRACT[name]
    assert error.status == status
    assert error.body() == {
        "error": {"message": "It went wrong.", "type": type_, "param": "n", "code": code}
    }
    assert str(error) == "It went wrong."
    assert error.headers == {}


@pytest.mark.parametrize(
    ("vendor_status", "status"), [(400, 400), (404, 404), (413, 413), (422, 400)]
)
def test_a_vendors_refusal_keeps_its_status_but_for_422(vendor_status: int, status: int) -> None:
    refused = VendorRejected("No.", vendor_status=vendor_status, param="stop", code="too_many")
    elsewhere = WrongEndpoint("No.", wants="chat", vendor_status=vendor_status)
    assert (refused.status, refused.vendor_status) == (status, vendor_status)
    assert elsewhere.status == status
    assert refused.body()["error"] == {
        "message": "No.",
        "type": "invalid_request_error",
        "param": "stop",
        "code": "too_many",
    }
    assert VendorRejected("No.", vendor_status=400).body()["error"]["code"] is None


def test_our_key_being_refused_is_no_401_to_the_caller_and_not_to_be_tried_again() -> None:
    error = VendorAuthentication("No.", vendor_status=401)
    assert (error.status, error.vendor_status) == (502, 401)
    assert error.headers == {"x-should-retry": "false"}


def test_what_may_have_been_paid_for_or_needs_a_setting_is_not_to_be_tried_again() -> None:
    final = {"x-should-retry": "false"}
    assert VendorTimeout("x", billable=True, headers={"retry-after": "7"}).headers == {
        "retry-after": "7",
        **final,
    }
    assert VendorTimeout("x", billable=True, headers={"x-should-retry": "true"}).headers == final
    assert VendorTimeout("x", headers={"retry-after": "7"}).headers == {"retry-after": "7"}
    assert VendorMisconfigured("x").headers == final


def test_a_code_of_its_own_outranks_the_class() -> None:
    assert TollgateError("x", code="special").body()["error"]["code"] == "special"
    assert TollgateError("y").code == "internal_error"


def test_a_failed_vendor_call_is_unbilled_unless_it_says_otherwise() -> None:
    assert not VendorFailed("x").billable
    assert VendorFailed("x", billable=True).billable
    assert VendorFailed("x").vendor_status is None


@pytest.mark.parametrize(
    "error", [e for e in TREE.values() if issubclass(e, GatewayError | Unavailable)]
)
def test_no_failure_of_a_vendor_or_of_ours_looks_like_the_callers_key(
    error: type[TollgateError],
) -> None:
    assert error.status not in (401, 403)


def test_what_a_caller_can_mend_is_not_named_a_fault_of_ours() -> None:
    """The code is what logs, metrics and the counts of refusals have."""
    import_module("app.factory")  # and with it the errors of every room
    found, waiting = set[type[TollgateError]](), [TollgateError]
    while waiting:
        found.update(kinds := waiting.pop().__subclasses__())
        waiting += kinds
    assert len(found) > 20
    found.remove(LimitReached)  # each names its limit
    assert [it.__name__ for it in found if it.status < 500 and it.code == "internal_error"] == []
