import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vocabulary.errors import (
    GatewayError,
    VendorAuthentication,
    VendorFailed,
    VendorOverloaded,
    VendorRateLimited,
    VendorRejected,
    VendorTimeout,
)
from tests.gateways.anthropic.wire import ROW, delta, start, stream
from tests.gateways.rows import bodies
from tests.support.vendors.anthropic import error_body

ERRORS = [
    ("overloaded_error", 529, VendorOverloaded),
    ("api_error", 500, VendorFailed),
    ("rate_limit_error", 429, VendorRateLimited),
    ("timeout_error", 504, VendorTimeout),
    ("authentication_error", 401, VendorAuthentication),
    ("billing_error", 402, VendorAuthentication),
    ("permission_error", 403, VendorAuthentication),
    ("invalid_request_error", 400, VendorRejected),
    ("not_found_error", 404, VendorRejected),
    ("request_too_large", 413, VendorRejected),
]


@pytest.mark.parametrize(("kind", "status", "meaning"), ERRORS)
def test_an_error_means_the_same_with_its_status_and_inside_an_answer(
    kind: str, status: int, meaning: type[GatewayError]
) -> None:
    body = error_body(kind, "Because.")
    error = ROW.error(status, body)
    assert type(error) is meaning
    assert error.vendor_status == status
    assert type(ROW.refusal(body)) is meaning
    assert type(ROW.broken(stream(start(), delta("a"), body))) is meaning


def test_a_spending_limit_is_ours_and_not_to_be_retried() -> None:
    body = error_body(
        "rate_limit_error", "x", details={"error_code": "enforced_spend_limit_reached"}
    )
    error = ROW.error(429, body, retry_after="7")
    assert isinstance(error, VendorAuthentication)
    assert error.headers == {"x-should-retry": "false"}


def test_an_empty_balance_is_ours_though_its_status_says_otherwise() -> None:
    message = "Your credit balance is too low to access the Anthropic API."
    error = ROW.error(400, error_body("invalid_request_error", message))
    assert isinstance(error, VendorAuthentication)
    assert "credit" not in error.message


def test_a_refusal_from_a_proxy_in_front_has_no_json() -> None:
    error = ROW.error(413, b"<html>413 Request Entity Too Large</html>")
    assert (type(error), error.status) == (VendorRejected, 413)


def test_a_limit_tells_when_to_come_again() -> None:
    error = ROW.error(429, error_body("rate_limit_error", "x"), retry_after="7")
    assert error.headers == {"retry-after": "7"}


@given(st.integers(400, 599), bodies("type", "error", "message", "details", "error_code"))
def test_every_refusal_is_a_gateway_error(status: int, body: bytes) -> None:
    assert ROW.error(status, body).status >= 400
