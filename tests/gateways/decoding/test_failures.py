"""Vendors' errors, in all their shapes, to ours."""

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.gateways.decoding.failures import (
    MESSAGE_LIMIT,
    NAME_LIMIT,
    Detail,
    detail,
    failure,
    from_response,
    scrubbed,
)
from app.gateways.decoding.retry_hints import retry_after
from app.vendors.vendor import Vendor
from app.vocabulary.errors import GatewayError, TollgateError, VendorRejected, WrongEndpoint

SECRET = "our-own-secret-key-0123456789"
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


class Ours(NamedTuple):
    """What the caller is told; `message` is a part of it."""

    status: int
    type: str
    code: str | None
    param: str | None
    message: str


def refused(status: int, message: str, code: str | None = None, param: str | None = None) -> Ours:
    """Return what a refusal of the request itself becomes."""
    return Ours(status, "invalid_request_error", code, param, message)


LIMITED = Ours(429, "rate_limit_error", "vendor_rate_limited", None, "limits our requests")
CREDENTIALS = Ours(502, "vendor_error", "vendor_authentication", None, "credentials or balance")
FAILED = Ours(502, "vendor_error", "vendor_failed", None, "failed")
OVERLOADED = Ours(503, "vendor_error", "vendor_overloaded", None, "overloaded")
SLOW = Ours(504, "vendor_error", "vendor_timeout", None, "too long")


def openai(message: str, type_: Any = None, param: Any = None, code: Any = None) -> dict[str, Any]:
    """Return OpenAI's error body."""
    return {"error": {"message": message, "type": type_, "param": param, "code": code}}


CHAT_MODEL = "This is a chat model and not supported in the v1/completions endpoint."

SHAPES: dict[str, tuple[int, Any, Ours]] = {
    # OpenAI
    "openai: a chat model": (
        404,
        openai(CHAT_MODEL, "invalid_request_error", "model"),
        refused(404, CHAT_MODEL, None, "model"),
    ),
    "openai: no such model": (
        404,
        openai("No x.", "invalid_request_error", None, "model_not_found"),
        refused(404, "No x.", "model_not_found"),
    ),
    "openai: an unknown field": (
        400,
        openai("Unrecognized request argument supplied: foo", "invalid_request_error"),
        refused(400, "Unrecognized request argument supplied: foo"),
    ),
    "openai: too long": (
        400,
        openai("Too long.", "invalid_request_error", "messages", "context_length_exceeded"),
        refused(400, "Too long.", "context_length_exceeded", "messages"),
    ),
    "openai: a wrong key": (
        401,
        openai("Incorrect API key provided: sk-ab***yz.", None, None, "invalid_api_key"),
        CREDENTIALS,
    ),
    "openai: a wrong region": (403, openai("Country not supported."), CREDENTIALS),
    "openai: too many requests": (
        429,
        openai("Rate limit reached.", "requests", None, "rate_limit_exceeded"),
        LIMITED._replace(message="Rate limit reached."),
    ),
    "openai: out of money": (
        429,
        openai("You exceeded your quota.", "insufficient_quota", None, "insufficient_quota"),
        CREDENTIALS,
    ),
    "openai: a fault": (
        500,
        openai("Try again.", "server_error"),
        FAILED._replace(message="Try again."),
    ),
    "openai: busy": (503, openai("Busy."), OVERLOADED._replace(message="Busy.")),
    # Azure
    "azure: a chat model": (
        400,
        {"error": {"code": "OperationNotSupported", "message": "Not with gpt-4o."}},
        refused(400, "Not with gpt-4o.", "OperationNotSupported"),
    ),
    "azure: a blocked prompt": (
        400,
        {
            "error": {
                "message": "Filtered.",
                "type": None,
                "param": "prompt",
                "code": "content_filter",
                "status": 400,
                "innererror": {"code": "ResponsibleAIPolicyViolation"},
            }
        },
        refused(400, "Filtered.", "content_filter", "prompt"),
    ),
    "azure: a wrong key": (
        401,
        {"error": {"code": "401", "message": "Access denied."}},
        CREDENTIALS,
    ),
    "azure: no deployment": (
        404,
        {"error": {"code": "DeploymentNotFound", "message": "None."}},
        refused(404, "None.", "DeploymentNotFound"),
    ),
    # xAI
    "xai: an error that is a string": (
        400,
        {"code": "Client specified an invalid argument", "error": "Model x takes no stop."},
        refused(400, "Model x takes no stop.", "Client specified an invalid argument"),
    ),
    # Anthropic
    "anthropic: a bad request": (
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "Bad."},
            "request_id": "r",
        },
        refused(400, "Bad."),
    ),
    "anthropic: no money": (
        400,
        {"type": "error", "error": {"type": "billing_error", "message": "Pay."}},
        CREDENTIALS,
    ),
    "anthropic: too large": (
        413,
        {"type": "error", "error": {"type": "request_too_large", "message": "Large."}},
        refused(413, "Large."),
    ),
    "anthropic: at the limit of its spending": (
        429,
        {
            "type": "error",
            "error": {
                "type": "rate_limit_error",
                "message": "x",
                "code": "enforced_spend_limit_reached",
            },
        },
        CREDENTIALS,
    ),
    "anthropic: overloaded": (
        529,
        {"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}},
        OVERLOADED._replace(message="Busy."),
    ),
    # Gemini
    "gemini: exhausted, in a list": (
        429,
        [{"error": {"code": 429, "message": "Exhausted.", "status": "RESOURCE_EXHAUSTED"}}],
        LIMITED._replace(message="Exhausted."),
    ),
    "gemini: unavailable": (
        503,
        {"error": {"code": 503, "message": "Busy.", "status": "UNAVAILABLE"}},
        OVERLOADED,
    ),
    # Bedrock, Cohere, Mistral, DeepSeek
    "bedrock: validation": (400, {"message": "Malformed."}, refused(400, "Malformed.")),
    "bedrock: a model's fault": (
        424,
        {"message": "Model.", "originalStatusCode": 500},
        FAILED._replace(message="Model."),
    ),
    "bedrock: a model's timeout": (408, {"message": "Slow."}, SLOW._replace(message="Slow.")),
    "cohere: a message and an id": (422, {"message": "No.", "id": "i"}, refused(400, "No.")),
    "cohere: a client that left": (499, {"message": "Gone."}, FAILED._replace(message="Gone.")),
    "mistral: validation": (
        422,
        {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs.", "type": "extra_forbidden"}]},
        refused(400, "Extra inputs."),
    ),
    "mistral: an object named error": (
        400,
        {
            "object": "error",
            "message": "Bad.",
            "type": "invalid_model",
            "param": None,
            "code": "1500",
        },
        refused(400, "Bad.", "1500"),
    ),
    "deepseek: no balance": (402, openai("Insufficient Balance"), CREDENTIALS),
    # OpenRouter, groq, together
    "openrouter: a code that is a number": (
        400,
        {"error": {"code": 400, "message": "Bad.", "metadata": {"raw": "x"}}},
        refused(400, "Bad."),
    ),
    "openrouter: no credits": (402, {"error": {"code": 402, "message": "Pay."}}, CREDENTIALS),
    "groq: too large": (
        413,
        openai("Large.", "tokens", None, "rate_limit_exceeded"),
        refused(413, "Large.", "rate_limit_exceeded"),
    ),
    "groq: flexible capacity": (
        498,
        openai("Full.", None, None, "capacity_exceeded"),
        OVERLOADED._replace(message="Full."),
    ),
    "together: HTML": (
        522,
        b"<!DOCTYPE html><title>522</title>",
        FAILED._replace(message="HTTP 522"),
    ),
    # Self-hosted
    "vllm: a code that is a number": (
        400,
        openai("No suffix.", "BadRequestError", None, 400),
        refused(400, "No suffix."),
    ),
    "vllm: older": (
        404,
        {
            "object": "error",
            "message": "None.",
            "type": "NotFoundError",
            "param": None,
            "code": 404,
        },
        refused(404, "None."),
    ),
    "llama.cpp: a fault": (
        500,
        {"error": {"code": 500, "message": "Unsupported param: suffix", "type": "server_error"}},
        FAILED._replace(message="Unsupported param: suffix"),
    ),
    "llama.cpp: loading": (
        503,
        {"error": {"code": 503, "message": "Loading.", "type": "unavailable_error"}},
        OVERLOADED._replace(message="Loading."),
    ),
    "ollama: no model": (404, openai("None.", "not_found_error"), refused(404, "None.")),
    "tgi: validation": (
        422,
        {"error": "Too long.", "error_type": "validation"},
        refused(400, "Too long."),
    ),
    "tgi: overloaded": (
        429,
        {"error": "Overloaded", "error_type": "overloaded"},
        LIMITED._replace(message="Overloaded"),
    ),
    "tgi: generation": (424, {"error": "Failed.", "error_type": "generation"}, FAILED),
    "llm-engine: a detail": (
        404,
        {"detail": "No such endpoint."},
        refused(404, "No such endpoint."),
    ),
    "llm-engine: a detail of a detail": (
        400,
        {"detail": {"error": {"message": "Deep.", "code": "x", "param": "p"}}},
        refused(400, "Deep.", "x", "p"),
    ),
    "llm-engine: a fault": (500, {"detail": "Upstream service error for request_id r"}, FAILED),
    # Nothing to go by
    "HTML": (404, b"<html>not here</html>", refused(404, "refused the request (HTTP 404)")),
    "nothing": (400, b"", refused(400, "refused the request (HTTP 400)")),
    "an empty object": (500, {}, FAILED._replace(message="(HTTP 500)")),
    "null": (429, None, LIMITED._replace(message="(HTTP 429)")),
    "a number": (503, 5, OVERLOADED._replace(message="(HTTP 503)")),
    "a JSON string": (400, "no", refused(400, "no")),
    "an empty message": (400, openai(""), refused(400, "(HTTP 400)")),
    "a message that is a number": (400, {"error": {"message": 5}}, refused(400, "(HTTP 400)")),
    "bytes that are no text": (502, b"\xff\xfe\0", FAILED._replace(message="(HTTP 502)")),
    "nested without end": (500, b"[" * 100_000, FAILED._replace(message="(HTTP 500)")),
    "a gateway before the vendor": (504, b"<html>", SLOW._replace(message="(HTTP 504)")),
    "Cloudflare's timeout": (524, b"<html>", SLOW._replace(message="(HTTP 524)")),
    "a redirect": (301, b"", FAILED._replace(message="(HTTP 301)")),
    "no content": (204, b"", FAILED._replace(message="(HTTP 204)")),
    "a teapot": (418, b"", FAILED._replace(message="(HTTP 418)")),
}


@pytest.mark.parametrize(("status", "body", "ours"), SHAPES.values(), ids=SHAPES)
def test_a_vendors_error_becomes_ours(status: int, body: Any, ours: Ours) -> None:
    error = met(status, body)
    told = error.body()["error"]
    assert (error.status, told["type"], told["code"], told["param"]) == ours[:4]
    assert ours.message in str(told["message"])
    assert error.vendor_status == status
    assert isinstance(error, TollgateError)


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


# When to try again.

DATE = "Wed, 21 Oct 2026 07:28:00 GMT"

RETRIES: list[tuple[dict[str, str], dict[str, str]]] = [
    ({}, {}),
    ({"retry-after": "7"}, {"retry-after": "7"}),
    ({"retry-after": "0"}, {"retry-after": "0"}),
    ({"retry-after": " 60 "}, {"retry-after": "60"}),
    ({"retry-after": DATE}, {"retry-after": DATE}),
    ({"retry-after-ms": "1500"}, {"retry-after-ms": "1500", "retry-after": "2"}),
    ({"retry-after-ms": "1"}, {"retry-after-ms": "1", "retry-after": "1"}),
    ({"retry-after-ms": "15", "retry-after": "9"}, {"retry-after-ms": "15", "retry-after": "9"}),
    ({"retry-after": "1.5"}, {"retry-after": "2", "retry-after-ms": "1500"}),
    ({"retry-after": "0.02"}, {"retry-after": "1", "retry-after-ms": "20"}),
    ({"retry-after": "3.000"}, {"retry-after": "3", "retry-after-ms": "3000"}),
    ({"retry-after-ms": "1500.25"}, {"retry-after-ms": "1501", "retry-after": "2"}),
    ({"retry-after": "1.5", "retry-after-ms": "9"}, {"retry-after": "2", "retry-after-ms": "9"}),
    ({"retry-after": "21 Oct 2026 09:28:00 +0200"}, {"retry-after": DATE}),
    ({"retry-after": f"{DATE}\r\nx-evil: 1"}, {"retry-after": DATE}),
    ({"retry-after": "soon", "retry-after-ms": "5"}, {"retry-after": "1", "retry-after-ms": "5"}),
    *[
        ({"retry-after": garbage, "retry-after-ms": garbage}, {})
        for garbage in (
            "", "soon", "-1", "1.5s", ".5", "1.",
            "1e3", "0x10", "\u0667", "1" * 12, "7 s", "inf", "nan",
            "7\r\nx: y",
            "Wed, 21 Oct", "Wed, 21 Oct 2026 07:28:00", "Wed, 99 Oct 2026 07:28:00 GMT",
            "Wed, 21 Oct 99999999999999999999 07:28:00 GMT",
            "21 Oct 2026 99999999999999999999:28:00 GMT",
            "Wed, 21 Oct 2026 07:28:00 +99999999999", "31 Dec 9999 23:00:00 -2300", ", , ,",
        )
    ],
]  # fmt: skip


@pytest.mark.parametrize(("headers", "passed"), RETRIES, ids=str)
def test_when_to_try_again_is_passed_on_and_garbage_is_not(
    headers: dict[str, str], passed: dict[str, str]
) -> None:
    assert retry_after(headers) == passed


@given(st.text(st.characters(max_codepoint=255), max_size=40))
def test_any_header_is_passed_on_or_left_out(value: str) -> None:
    passed = retry_after({"retry-after": value, "retry-after-ms": value})
    assert all(text.isascii() and text.isprintable() for text in passed.values())


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
    assert detail(body) == Detail(message="x", code="outer", param="p", status=429)
    assert detail([]) == detail(None) == detail(5) == detail("") == Detail()


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
    said = detail(error)
    for text in (said.message, said.code, said.param, said.type):
        assert text is None or (isinstance(text, str) and text)
    assert said.status is None or 400 <= said.status <= 599


@pytest.mark.parametrize(
    ("status", "message", "wants"),
    [
        (404, "This is a chat model and not supported in the v1/completions endpoint.", "chat"),
        (404, "This is not a chat model and thus not supported in v1/chat/completions.", "native"),
        (400, "The completion operation does not work with the specified model, m.", "chat"),
        (400, "The chatCompletion operation does not work with the specified model.", "native"),
    ],
)
def test_a_vendor_says_on_which_endpoint_a_model_is(status: int, message: str, wants: str) -> None:
    error = met(status, openai(message))
    assert isinstance(error, WrongEndpoint)
    assert (error.wants, error.status, error.message) == (wants, status, message)


@pytest.mark.parametrize(
    "message",
    [
        "This model is only supported in v1/responses and not in v1/chat/completions.",
        "The model `m` does not exist or you do not have access to it.",
        None,
    ],
)
def test_other_refusals_name_no_endpoint(message: str | None) -> None:
    error = met(404, {"error": message})
    assert isinstance(error, VendorRejected)
    assert not isinstance(error, WrongEndpoint)


@pytest.mark.parametrize(
    "body",
    [
        {"code": "The caller does not have permission", "error": "Violates usage guidelines."},
        {"error": {"code": 403, "message": "Moderation: your input was flagged", "metadata": {}}},
    ],
)
def test_a_prompt_against_a_vendors_rules_is_no_fault_of_our_key(body: Any) -> None:
    error = met(403, body)
    assert isinstance(error, VendorRejected)
    assert error.status == 400
