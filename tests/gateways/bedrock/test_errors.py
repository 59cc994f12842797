import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.bedrock.converse import ConverseGateway
from app.gateways.bedrock.errors import decode_exception
from app.gateways.bedrock.event_stream import Message
from app.vocabulary.errors import (
    GatewayError,
    VendorAuthentication,
    VendorFailed,
    VendorOverloaded,
    VendorRateLimited,
    VendorRejected,
    VendorTimeout,
    WrongEndpoint,
)
from tests.gateways.bedrock.rows import row

GATEWAY = ConverseGateway()
CORAL = ":http://internal.amazon.com/coral/com.amazon.bedrock/"


def decoded(status: int, kind: str | None, **payload: Any) -> GatewayError:
    headers = {"x-amzn-errortype": kind} if kind else {}
    return GATEWAY.decode_error(row(), status, headers, json.dumps(payload).encode())


@pytest.mark.parametrize(
    ("status", "kind", "more", "expected", "ours", "vendors"),
    [
        (400, "ValidationException", {}, VendorRejected, 400, 400),
        (404, "ResourceNotFoundException", {}, VendorRejected, 404, 404),
        (403, "AccessDeniedException", {}, VendorAuthentication, 502, 403),
        (403, "ExpiredTokenException", {}, VendorAuthentication, 502, 403),
        (400, "UnrecognizedClientException", {}, VendorAuthentication, 502, 403),
        (429, "ThrottlingException", {}, VendorRateLimited, 429, 429),
        (429, "ModelNotReadyException", {}, VendorRateLimited, 429, 429),
        (400, "ServiceQuotaExceededException", {}, VendorRateLimited, 429, 429),
        (408, "ModelTimeoutException", {}, VendorTimeout, 504, 408),
        (500, "InternalServerException", {}, VendorFailed, 502, 500),
        (503, "ServiceUnavailableException", {}, VendorOverloaded, 503, 503),
        (424, "ModelErrorException", {}, VendorFailed, 502, 424),
        (424, "ModelErrorException", {"originalStatusCode": 400}, VendorRejected, 400, 400),
        (424, "ModelErrorException", {"originalStatusCode": 429}, VendorRateLimited, 429, 429),
        (424, "ModelErrorException", {"originalStatusCode": 200}, VendorFailed, 502, 424),
        (424, "ModelErrorException", {"originalStatusCode": 399}, VendorFailed, 502, 424),
        (424, "ModelErrorException", {"originalStatusCode": 599}, VendorFailed, 502, 599),
        (424, "ModelErrorException", {"originalStatusCode": 600}, VendorFailed, 502, 424),
        (424, "ModelErrorException", {"originalStatusCode": "400"}, VendorFailed, 502, 424),
        (400, "ValidationException", {"originalStatusCode": 500}, VendorRejected, 400, 400),
        (418, "SomethingNewException", {}, VendorFailed, 502, 418),
        (500, None, {}, VendorFailed, 502, 500),
    ],
)
def test_an_exceptions_name_decides(
    status: int,
    kind: str | None,
    more: dict[str, Any],
    expected: type[GatewayError],
    ours: int,
    vendors: int,
) -> None:
    for named in (kind, kind and kind + CORAL):
        error = decoded(status, named, message="Because.", **more)
        assert type(error) is expected
        assert (error.status, error.vendor_status) == (ours, vendors)


def test_a_name_in_the_body_counts_too() -> None:
    body = {"__type": "com.amazon.coral.service#ThrottlingException", "Message": "Slow down."}
    error = GATEWAY.decode_error(row(), 400, {}, json.dumps(body).encode())
    assert isinstance(error, VendorRateLimited)
    assert "Slow down." in error.message


def test_a_refusal_has_the_vendors_words() -> None:
    error = decoded(400, "ValidationException" + CORAL, message="No such role.")
    assert (error.message, error.code) == ("No such role.", "ValidationException")
    error = decoded(
        424, "ModelErrorException", message="x", originalMessage="y", originalStatusCode=422
    )
    assert (error.message, error.status) == ("y", 400)


def test_too_long_a_request_has_the_contracts_code_and_the_vendors_numbers() -> None:
    words = "prompt is too long: 210000 tokens > 200000 maximum"
    for error in (
        decoded(400, "ValidationException" + CORAL, message=words),
        decoded(400, "ValidationException", message=f"The model returned: {words}"),
    ):
        assert (error.status, error.code) == (400, "context_length_exceeded")
        assert words in error.message


@pytest.mark.parametrize(
    ("message", "wants"),
    [
        ("This model doesn't support the Converse operation.", "native"),
        ("This model does not support the Converse API operation.", "native"),
        (
            "Malformed input request: #: required key [messages] not found, please reformat your "
            "input and try again.",
            "chat",
        ),
        (
            "Malformed input request: #: extraneous key [prompt] is not permitted, please reformat "
            "your input and try again.",
            "chat",
        ),
    ],
)
def test_a_model_on_the_other_endpoint_is_recognised(message: str, wants: str) -> None:
    error = decoded(400, "ValidationException", message=message)
    assert isinstance(error, WrongEndpoint)
    assert (error.wants, error.vendor_status, error.message) == (wants, 400, message)


@pytest.mark.parametrize(
    ("kind", "payload", "expected"),
    [
        ("internalServerException", {"message": "m"}, VendorFailed),
        ("modelStreamErrorException", {"message": "m"}, VendorFailed),
        ("modelStreamErrorException", {"originalStatusCode": 529}, VendorOverloaded),
        ("modelTimeoutException", {"message": "m"}, VendorTimeout),
        ("serviceUnavailableException", {"message": "m"}, VendorOverloaded),
        ("throttlingException", {}, VendorRateLimited),
        ("validationException", {"message": "m"}, VendorRejected),
        ("", {}, VendorFailed),
    ],
)
def test_exceptions_in_a_stream_mean_the_same(
    kind: str, payload: Any, expected: type[GatewayError]
) -> None:
    headers = {":message-type": "exception", ":exception-type": kind}
    error = decode_exception(row(), Message(headers, json.dumps(payload).encode()))
    assert type(error) is expected


def test_a_key_in_an_error_reaches_nobody() -> None:
    vendor = row(AWS_BEARER_TOKEN_BEDROCK="ABSKQmVkcm9ja0FQSUtleS")
    body = {"message": f"Bad token {vendor.api_key}; and AKIAIOSFODNN7EXAMPLE."}
    error = GATEWAY.decode_error(vendor, 400, {}, json.dumps(body).encode())
    assert "ABSK" not in error.message
    assert "AKIA" not in error.message


@given(
    st.binary() | st.dictionaries(st.text(), st.text()).map(lambda d: json.dumps(d).encode()),
    st.integers(300, 599),
    st.text(),
)
def test_whatever_an_error_holds_it_is_one(body: bytes, status: int, kind: str) -> None:
    error = GATEWAY.decode_error(row(), status, {"x-amzn-errortype": kind}, body)
    assert error.status >= 400
    stream = {":message-type": "exception", ":exception-type": kind}
    assert decode_exception(row(), Message(stream, body)).status >= 400


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("accessDeniedException", 403),
        ("expiredTokenException", 403),
        ("internalServerException", 500),
        ("invalidSignatureException", 403),
        ("modelNotReadyException", 429),
        ("resourceNotFoundException", 404),
        ("serviceQuotaExceededException", 429),
        ("serviceUnavailableException", 503),
        ("throttlingException", 429),
        ("unrecognizedClientException", 403),
        ("validationException", 400),
        ("somethingNewException", None),
    ],
)
def test_an_exception_in_a_stream_has_the_status_that_its_name_means(
    kind: str, status: int | None
) -> None:
    headers = {":message-type": "exception", ":exception-type": kind}
    assert decode_exception(row(), Message(headers, b"{}")).vendor_status == status
