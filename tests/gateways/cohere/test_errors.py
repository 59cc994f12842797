"""Cohere's errors."""

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
from tests.gateways.cohere.wire import ROW, WORDS
from tests.gateways.rows import bodies


@pytest.mark.parametrize(
    ("status", "meaning", "ours"),
    [
        (400, VendorRejected, 400),
        (404, VendorRejected, 404),
        (422, VendorRejected, 400),
        (401, VendorAuthentication, 502),
        (402, VendorAuthentication, 502),
        (403, VendorAuthentication, 502),
        (498, VendorAuthentication, 502),
        (429, VendorRateLimited, 429),
        (499, VendorFailed, 502),
        (500, VendorFailed, 502),
        (501, VendorFailed, 502),
        (503, VendorOverloaded, 503),
        (504, VendorTimeout, 504),
    ],
)
def test_a_status_has_its_meaning(status: int, meaning: type[GatewayError], ours: int) -> None:
    error = ROW.error(status, {"id": "c14c", "message": "Because."})
    assert (type(error), error.status) == (meaning, ours)
    assert ("Because." in error.message) == (meaning is not VendorAuthentication)


def test_a_prompt_beyond_the_context_has_the_contracts_code_and_coheres_numbers() -> None:
    words = "too many tokens: size limit exceeded by 11326 tokens."
    error = ROW.error(400, {"id": "c14c", "message": words})
    assert (error.status, str(error.code)) == (400, "context_length_exceeded")
    assert words in error.message


@given(st.integers(400, 599), bodies(*WORDS))
def test_every_refusal_is_a_gateway_error(status: int, body: bytes) -> None:
    assert ROW.error(status, body).status >= 400
