"""Errors of vendors: what they mean to the caller, and what they cost."""

import threading
from typing import Any

import pytest

from tests.api.asking import PROMPT, error_of
from tests.support.gateway import Gateway
from tests.support.vendor import (
    CUT,
    Reply,
    SimulatedVendor,
    json_reply,
)

VENDOR_ERRORS: list[tuple[int, Any, dict[str, str], int, str, str | None]] = [
    (400, {"error": {"message": "Too long.", "code": "context_length_exceeded", "param": "prompt"}},
     {}, 400, "invalid_request_error", "context_length_exceeded"),
    (422, {"error": {"message": "No."}}, {}, 400, "invalid_request_error", None),
    (404, {"error": {"message": "No model.", "code": "model_not_found"}}, {},
     404, "invalid_request_error", "model_not_found"),
    (401, {"error": {"message": "Incorrect API key provided: sk-sim*****ret"}}, {},
     502, "vendor_error", "vendor_authentication"),
    (403, {"error": "forbidden"}, {}, 502, "vendor_error", "vendor_authentication"),
    (429, {"error": {"message": "Slow down"}}, {"retry-after": "7"},
     429, "rate_limit_error", "vendor_rate_limited"),
    (500, {"error": {"message": "oops"}}, {}, 502, "vendor_error", "vendor_failed"),
    (503, {}, {}, 503, "vendor_error", "vendor_overloaded"),
    (529, {}, {}, 503, "vendor_error", "vendor_overloaded"),
    (504, {}, {}, 504, "vendor_error", "vendor_timeout"),
    (302, {}, {"location": "http://127.0.0.1:1/"}, 502, "vendor_error", "vendor_failed"),
    (200, {"error": {"message": "in disguise"}}, {}, 502, "vendor_error", "vendor_failed"),
    (200, {"error": {"message": "in disguise", "code": 429}}, {},
     429, "rate_limit_error", "vendor_rate_limited"),
    (200, {"choices": 5}, {}, 502, "vendor_error", "vendor_failed"),
    (200, ["nonsense"], {}, 502, "vendor_error", "vendor_failed"),
]  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("status", "body", "headers", "ours", "kind", "code"), VENDOR_ERRORS)
def test_a_vendor_error_keeps_its_meaning_also_where_a_stream_was_asked_for(
    gateway: Gateway,
    vendor: SimulatedVendor,
    stream: bool,
    status: int,
    body: Any,
    headers: dict[str, str],
    ours: int,
    kind: str,
    code: str | None,
) -> None:
    vendor.default = lambda _: json_reply(body, status, **headers)
    response = gateway.post({**PROMPT, "stream": stream})
    assert error_of(response)[:3] == (ours, kind, code)
    assert "sk-" not in response.text
    assert response.headers.get("retry-after") == headers.get("retry-after")
    if code == "vendor_authentication":
        assert response.headers["x-should-retry"] == "false"
    event = gateway.event()
    assert event.status == "failed"
    assert event.completion_tokens == 0
    said_so = isinstance(body, dict) and "error" in body  # and so has done nothing
    may_be_billed = status == 504 or (status == 200 and not said_so)
    assert event.source == ("estimated" if may_be_billed else "none")


def test_a_vendor_that_cannot_be_reached_is_a_502_and_costs_nothing(gateway: Gateway) -> None:
    response = gateway.post({**PROMPT, "model": "down/m"})
    assert error_of(response) == (502, "vendor_error", "vendor_failed", None)
    event = gateway.event()
    assert (event.status, event.source, event.total_tokens) == ("failed", "none", 0)
    assert event.http_status is None


@pytest.mark.parametrize("stream", [False, True])
def test_a_vendor_that_never_answers_is_a_504_and_may_have_cost_the_prompt(
    gateway: Gateway, vendor: SimulatedVendor, stream: bool
) -> None:
    vendor.reply(Reply([threading.Event()]))
    response = gateway.post({**PROMPT, "model": "quick/m", "stream": stream})
    assert error_of(response)[:3] == (504, "vendor_error", "vendor_timeout")
    event = gateway.event()
    assert (event.status, event.source) == ("failed", "estimated")
    assert (event.prompt_tokens, event.completion_tokens) == (2, 0)


def test_an_answer_that_breaks_off_is_a_502_and_may_have_cost_the_prompt(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(Reply([b'{"choices": [', CUT], framing="chunked"))
    assert error_of(gateway.post(PROMPT))[:3] == (502, "vendor_error", "vendor_failed")
    event = gateway.event()
    assert (event.status, event.source, event.prompt_tokens) == ("failed", "estimated", 2)
