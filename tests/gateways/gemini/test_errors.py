import json
from typing import Any

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
from tests.gateways.gemini.wire import GATEWAY, ROW, SECRET, chunks_of, decoded, event

RPC = "type.googleapis.com/google.rpc"


def refused(status: int, body: Any, headers: dict[str, str] | None = None) -> GatewayError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return GATEWAY.decode_error(ROW, status, headers or {}, raw)


def error(status: int, word: str, message: str = "m", *details: Any) -> dict[str, Any]:
    told = {"code": status, "message": message, "status": word}
    return {"error": {**told, "details": list(details)} if details else told}


@pytest.mark.parametrize(
    ("status", "word", "kind"),
    [
        (400, "INVALID_ARGUMENT", VendorRejected),
        (404, "NOT_FOUND", VendorRejected),
        (400, "FAILED_PRECONDITION", VendorAuthentication),
        (401, "UNAUTHENTICATED", VendorAuthentication),
        (402, "PAYMENT_REQUIRED", VendorAuthentication),
        (403, "PERMISSION_DENIED", VendorAuthentication),
        (429, "RESOURCE_EXHAUSTED", VendorRateLimited),
        (499, "CANCELLED", VendorFailed),
        (500, "INTERNAL", VendorFailed),
        (503, "UNAVAILABLE", VendorOverloaded),
        (504, "DEADLINE_EXCEEDED", VendorTimeout),
    ],
)
def test_every_status_has_its_meaning_in_a_list_too(
    status: int, word: str, kind: type[GatewayError]
) -> None:
    body = error(status, word)
    assert type(refused(status, body)) is kind
    assert type(refused(status, [body])) is kind
    with pytest.raises(kind):
        decoded(body)
    with pytest.raises(kind):
        decoded([body])


def test_what_the_request_did_wrong_is_passed_on() -> None:
    told = refused(400, error(400, "INVALID_ARGUMENT", "Invalid value at 'tools'."))
    assert (str(told), told.code) == ("Invalid value at 'tools'.", "INVALID_ARGUMENT")
    assert told.status == 400


@pytest.mark.parametrize(
    "message",
    [
        "The input token count (1091639) exceeds the maximum number of tokens allowed (1048576).",
        "Unable to submit request because the input token count is 1091639 but model only supports "
        "up to 1048576.",
    ],
)
def test_a_prompt_beyond_the_context_has_the_contracts_code_and_googles_numbers(
    message: str,
) -> None:
    told = refused(400, error(400, "INVALID_ARGUMENT", message))
    assert (told.status, told.code) == (400, "context_length_exceeded")
    assert "1091639" in str(told)
    with pytest.raises(VendorRejected) as caught:
        chunks_of([event(error(400, "INVALID_ARGUMENT", message))])
    assert caught.value.code == "context_length_exceeded"


def test_a_bad_key_is_ours_though_google_calls_it_an_invalid_argument() -> None:
    reason = {"@type": f"{RPC}.ErrorInfo", "reason": "API_KEY_INVALID"}
    body = error(400, "INVALID_ARGUMENT", f"API key {SECRET} not valid.", reason)
    told = refused(400, body)
    assert isinstance(told, VendorAuthentication)
    assert SECRET not in str(told)


def test_our_key_is_in_no_message() -> None:
    told = refused(400, error(400, "INVALID_ARGUMENT", f"no such key: {SECRET}"))
    assert SECRET not in str(told)


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [("53s", "53"), ("53.837906506s", "54"), ("0.2s", "1"), ("9s", "9")],
)
def test_the_delay_in_the_body_is_passed_on_in_whole_seconds(delay: str, seconds: str) -> None:
    details = [{"@type": f"{RPC}.QuotaFailure"}, {"@type": f"{RPC}.RetryInfo", "retryDelay": delay}]
    told = refused(429, error(429, "RESOURCE_EXHAUSTED", "m", *details))
    assert told.headers == {"retry-after": seconds}


def test_a_header_says_it_better_than_the_body() -> None:
    body = error(429, "RESOURCE_EXHAUSTED", "m", {"retryDelay": "53s"})
    assert refused(429, body, {"retry-after": "7"}).headers == {"retry-after": "7"}


@pytest.mark.parametrize("delay", ["", "soon", "-5s", "5", "5m", "1e3s", "5s\n", "9" * 20 + "s", 5])
def test_a_delay_that_is_none_is_left_out(delay: Any) -> None:
    body = error(429, "RESOURCE_EXHAUSTED", "m", {"retryDelay": delay})
    assert refused(429, body).headers == {}


@pytest.mark.parametrize(
    "body", [b"", b"<html>502</html>", b"\xff", [], [[]], 5, {"error": 5}, {"error": []}, [5]]
)
def test_a_status_says_enough_when_the_body_says_nothing(body: Any) -> None:
    assert type(refused(502, body)) is VendorFailed


def test_an_error_that_is_a_sentence_is_one() -> None:
    assert str(refused(400, {"error": "no such model"})) == "no such model"


@given(
    st.integers(201, 599),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["error", "code", "status", "message", "details", "reason"])
                | st.sampled_from(["retryDelay", "@type"]),
                inner,
            )
        ),
        max_leaves=10,
    ),
)
def test_every_refusal_becomes_a_gateway_error(status: int, body: Any) -> None:
    assert isinstance(refused(status, body), GatewayError)
