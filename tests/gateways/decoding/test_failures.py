"""Vendors' errors in all their shapes, as the errors of the contract."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.decoding import failures
from app.gateways.decoding.error_bodies import error_in
from app.gateways.decoding.failures import (
    NAME_LIMIT,
    Detail,
    detail_of,
    failure,
    from_response,
)
from app.gateways.decoding.secrets import MESSAGE_LIMIT, scrubbed
from app.vendors.vendor import Vendor
from app.vocabulary.errors import GatewayError, TollgateError
from tests.gateways.decoding.bare_error_shapes import BARE_SHAPES
from tests.gateways.decoding.error_shapes import SHAPES, Ours, openai

SECRET = "our-own-secret-key-0123456789"
ALL_SHAPES = SHAPES | BARE_SHAPES
HEADER_SECRET = "secret-in-a-header-42"
VENDOR = Vendor(
    name="sim",
    gateway="openai",
    base_url="https://v.example/v1",
    api_key=SECRET,
    headers={"api-key": HEADER_SECRET, "x-app": "a"},
)


def met(status: int, body: Any, **headers: str) -> GatewayError:
    """Return the error for a vendor's response."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return from_response(VENDOR, status, named, raw)


@pytest.mark.parametrize(("status", "body", "ours"), ALL_SHAPES.values(), ids=ALL_SHAPES)
def test_a_vendors_error_becomes_ours(status: int, body: Any, ours: Ours) -> None:
    error = met(status, body)
    told = error.body()["error"]
    assert (error.status, told["type"], told["code"], told["param"]) == ours[:4]
    assert ours.message in str(told["message"])
    assert error.vendor_status == status
    assert isinstance(error, TollgateError)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("x is temporarily rate-limited upstream.", ": x is temporarily rate-limited upstream."),
        ('{"error": {"message": "no such tool", "code": 400}}', ": no such tool"),
        ('[{"error": {"message": "no such tool"}}]', ": no such tool"),
        ('{"broken', ': {"broken'),
        ("", ""),
        (None, ""),
        ({"a": 1}, ""),
    ],
)
def test_an_aggregator_passes_on_what_its_vendor_said(raw: Any, says: str) -> None:
    """OpenRouter's own message is the same for every failure of its vendors."""
    body = {
        "error": {
            "message": "Provider returned error",
            "code": 400,
            "metadata": {"raw": raw, "provider_name": "P"},
        }
    }
    assert met(400, body).message == f"Provider returned error{says}"
    limited = met(429, body)
    assert f"Provider returned error{says}" in limited.message


def test_an_error_may_be_json_inside_of_a_message() -> None:
    """Servers between us and the model pass its error on as a text."""
    inner = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    body = {"error": {"message": json.dumps(inner), "code": 503, "status": "Service Unavailable"}}
    error = met(503, body)
    assert error.message == "The vendor `sim` is overloaded: The model is overloaded."
    assert met(400, {"error": '{"a": 1}'}).message == '{"a": 1}'
    assert met(400, {"error": "{no JSON"}).message == "{no JSON"


def test_such_json_tells_its_status_without_words_and_behind_a_status() -> None:
    """With status 200, nothing else tells it."""
    for text, message in (
        ('{"code": 429, "reason": "busy"}', '{"code": 429, "reason": "busy"}'),
        ('429 {"error": {"message": "Slow down."}}', "Slow down."),
        ('Error code: 429 - {"error": {"message": "Slow down."}}', "Slow down."),
    ):
        detail = detail_of({"error": {"message": text}})
        assert (detail.message, detail.status) == (message, 429)
    assert detail_of({"error": {"message": "429 tokens {"}}).status is None


def test_half_a_character_in_such_a_message_loses_nothing_else() -> None:
    error = met(
        400, {"error": {"message": '{"error": {"message": "no \\ud83d such tool \ud83d"}}'}}
    )
    assert "such tool" in error.message


def test_an_overflow_at_an_aggregators_vendor_is_one() -> None:
    raw = json.dumps({"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}})
    body = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}
    assert met(400, body).code == "context_length_exceeded"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("failed_generation", '{"name": "f", "arguments": {}}'),
        ("innererror", {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}}),
    ],
)
def test_what_an_error_holds_beside_its_message_reaches_the_caller_alone(
    name: str, value: Any
) -> None:
    """Groq's `failed_generation` is the only copy of a reply that was paid for."""
    for body in ({"error": {"message": "no", name: value}}, {"message": "no", name: value}):
        error = met(400, body)
        told = error.body(request_id="r")["error"]
        assert (told["message"], told[name], told["request_id"]) == ("no", value, "r")
        assert error.vendor_message == "no"


def test_what_is_beside_has_no_secret_of_ours_and_keeps_a_models_text() -> None:
    text = f"token=abcd1234efgh, and {SECRET}"
    inner = {SECRET: [{"told": f"Bearer {HEADER_SECRET}", "count": 1, "none": None}]}
    body = {"error": {"message": "no", "failed_generation": text, "innererror": inner}}
    told = met(400, body).body()["error"]
    assert told["failed_generation"] == "token=abcd1234efgh, and ***"
    assert told["innererror"] == {"***": [{"told": "Bearer ***", "count": 1, "none": None}]}


def test_what_is_beside_cannot_replace_the_contracts_fields() -> None:
    told = met(400, {"error": {"message": "no", "failed_generation": "x", "code": "c"}}).body()
    assert set(told["error"]) == {"message", "type", "param", "code", "failed_generation"}
    assert told["error"]["code"] == "c"


@pytest.mark.parametrize("status", [401, 402, 403])
@pytest.mark.parametrize(
    "body", [b"", b"<html>", openai("Incorrect API key provided: sk-1234567.")]
)
def test_a_vendors_401_is_never_the_callers(status: int, body: Any) -> None:
    error = met(status, body)
    assert (error.status, error.code) == (502, "vendor_authentication")
    assert error.headers == {"x-should-retry": "false"}
    assert "sk-" not in str(error)
    assert not error.billable


@pytest.mark.parametrize(
    ("status", "billable"),
    [
        (408, False),
        (504, True),
        (524, True),
        (500, False),
        (503, False),
        (429, False),
        (302, False),
    ],
)
def test_a_timeout_alone_may_have_been_billed(status: int, billable: bool) -> None:
    assert met(status, b"").billable == billable


# What must not pass.

KEYS = {
    "our key": (f"Bad key {SECRET}!", "Bad key ***!"),
    "our key in a URL": (f"GET /v1?key={SECRET}&x=1", "GET /v1?key=***&x=1"),
    "our key twice": (f"{SECRET}{SECRET}", "******"),
    "a header's key": (f"Bad {HEADER_SECRET}", "Bad ***"),
    "openai's": ("Incorrect API key provided: sk-abcdef1234. Go on.", "***"),
    "openai's, masked": ("Incorrect API key provided: sk-proj-ab****yz.", "***"),
    "groq's": ("Invalid gsk_AbCdEf123456", "Invalid ***"),
    "xai's": ("Incorrect: xai-abcdef.", "Incorrect: ***"),
    "fireworks'": ("Bad fw_3Zabcdefgh", "Bad ***"),
    "hugging face's": ("Bad hf_abcDEF123", "Bad ***"),
    "nvidia's": ("Bad nvapi-abcdefgh", "Bad ***"),
    "google's": ("API key AIzaSyA1234567890abcdefg not valid", "API key *** not valid"),
    "aws'": ("The key AKIAIOSFODNN7EXAMPLE is wrong", "The key *** is wrong"),
    "tollgate's": ("Bad tg_Ab1cdefghijk", "Bad ***"),
    "a bearer token": ("Got Bearer abcdefghijkl instead", "Got Bearer *** instead"),
    "a web token": ("Got eyJhbGciOiJI.eyJzdWIiOiIx.SflKx", "Got ***"),
    "someone's key in a URL": (
        "GET https://x/?key=abc123&alt=sse",
        "GET https://x/?key=***&alt=sse",
    ),
    "an api key in a form": ("api_key=abc123 is wrong", "api_key=*** is wrong"),
    "a token in a URL": ("?access_token=abc is wrong", "?access_token=*** is wrong"),
}


@pytest.mark.parametrize(("message", "left"), KEYS.values(), ids=KEYS)
def test_nothing_that_looks_like_a_key_passes(message: str, left: str) -> None:
    clean = scrubbed(VENDOR, message)
    assert clean is not None
    assert left in clean
    for status in (400, 429, 500, 503, 504):
        # wherever a vendor may put it
        body = {"error": {"message": message, "code": message, "param": message, "type": message}}
        told = json.dumps(met(status, body).body())
        assert SECRET not in told
        assert HEADER_SECRET not in told
        assert "***" in told
        assert "abc" not in told.replace("https://x/", "")


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
        "The key-value-store is full; use tg-small-model or hf-inference.",
        "Maximum context length is 4097 tokens, however you requested 4,200 (task-oriented).",
        "`logit_bias` keys must be token ids.",
        "A bearer of bad news",
    ],
)
def test_ordinary_words_are_left_alone(message: str) -> None:
    assert scrubbed(VENDOR, message) == message


def test_a_key_too_short_to_be_a_secret_leaves_words_alone() -> None:
    keyless = Vendor(name="v", gateway="openai", base_url="http://v", api_key="EMPTY")
    assert scrubbed(keyless, "EMPTY prompt") == "EMPTY prompt"


def test_words_are_cut_to_size_and_no_key_survives_the_cut() -> None:
    error = met(400, openai("x" * 990 + SECRET + "y" * 10_000, None, "p" * 5_000, "c" * 5_000))
    told = error.body()["error"]
    assert told["message"] == "x" * 990 + "***" + "y" * 7
    assert len(str(told["message"])) == MESSAGE_LIMIT
    assert (told["param"], told["code"]) == ("p" * NAME_LIMIT, "c" * NAME_LIMIT)
    for at in range(960, 1000):
        assert SECRET[:8] not in str(met(500, openai("x" * at + SECRET)))


@given(st.integers(400, 599), st.text(max_size=50), st.text(max_size=50))
def test_our_key_never_passes(status: int, before: str, after: str) -> None:
    body = openai(before + SECRET + after, SECRET, SECRET, SECRET)
    assert SECRET not in json.dumps(met(status, body).body())


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_a_failure_that_may_pass_says_when_to_try_again(status: int) -> None:
    assert met(status, b"", retry_after="7").headers == {"retry-after": "7"}
    assert met(status, b"", retry_after="soon").headers == {}


@pytest.mark.parametrize("status", [504, 524])
def test_a_timeout_says_when_it_may_be_paid_for_again_and_that_nobody_should_by_himself(
    status: int,
) -> None:
    told = {"retry-after": "7", "x-should-retry": "false"}
    assert met(status, b"", retry_after="7").headers == told
    assert met(status, b"", retry_after="7", x_should_retry="true").headers == told


@pytest.mark.parametrize("status", [400, 401, 404])
def test_other_errors_do_not(status: int) -> None:
    assert "retry-after" not in met(status, b"", retry_after="7").headers


@pytest.mark.parametrize("status", [400, 404, 408, 409, 418, 429, 500, 503])
@pytest.mark.parametrize("word", ["true", "false"])
def test_what_a_vendor_says_of_trying_again_is_passed_on(status: int, word: str) -> None:
    assert met(status, b"", x_should_retry=word).headers == {"x-should-retry": word}
    assert met(status, b"", x_should_retry=word.upper()).headers == {"x-should-retry": word}


@pytest.mark.parametrize("word", ["", "yes", "1", "false\r\nx: y"])
def test_any_other_word_is_not(word: str) -> None:
    assert met(503, b"", x_should_retry=word).headers == {}


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
def test_a_redirect_says_what_to_correct(status: int) -> None:
    error = met(status, b"", location="https://elsewhere.example/secret")
    assert "base_url" in error.message
    assert "elsewhere" not in error.message
    assert error.headers == {"x-should-retry": "false"}


def test_a_timeout_inside_an_answer_may_have_been_billed() -> None:
    assert failure(VENDOR, None, Detail(status=408)).billable


# Reading an error body.


def test_an_inner_error_is_completed_by_the_one_around_it() -> None:
    body = {"error": {"message": "x", "code": None}, "code": "outer", "param": "p", "status": 429}
    assert detail_of(body) == Detail(message="x", code="outer", param="p", status=429)
    assert detail_of([]) == detail_of(None) == detail_of(5) == detail_of("") == Detail()


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "detail", "code", "type", "param", "status"]),
            inner,
        )
    ),
)


@given(JUNK)
def test_any_json_is_read_as_words_or_as_nothing(error: Any) -> None:
    found = detail_of(error)
    for text in (found.message, found.code, found.param, found.type):
        assert text is None or (isinstance(text, str) and text)
    assert found.status is None or 400 <= found.status <= 599


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("invalid_request_error", 400),
        ("BadRequestError", 400),
        ("permission_error", 403),
        ("not_found_error", 404),
        ("NotFoundError", 404),
        ("request_too_large", 413),
        ("timeout_error", 504),
        ("rate_limit_error", 429),
        ("overloaded_error", 529),
        ("validation", 422),
        ("overloaded", 429),
        ("rate_limit_exceeded", 429),
        ("rate_limited", 429),
        ("content_filter", 400),
        ("model_not_found", 404),
        ("service_unavailable", 503),
    ],
)
@pytest.mark.parametrize("name", ["type", "code"])
def test_an_error_in_an_answer_has_the_status_that_its_type_or_code_means(
    kind: str, status: int, name: str
) -> None:
    error = failures.failure(VENDOR, None, failures.detail_of({name: kind, "message": "No."}))
    assert error.vendor_status == status


def test_the_only_choice_of_an_answer_may_hold_its_error() -> None:
    choice = {"index": 0, "delta": {}, "error": {"code": 429, "message": "busy"}}
    found = detail_of(error_in({"choices": [choice]}))
    assert (found.status, found.message) == (429, "busy")
    assert error_in({"choices": [choice, choice]}) is None
    assert error_in({"choices": [{**choice, "error": None}]}) is None
