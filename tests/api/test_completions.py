"""`POST /v5/completions`, answered whole: in through HTTP, out through HTTP and the stream."""

import dataclasses
import socket
import threading
from typing import Any

import pytest
import requests

from app.settings import Settings
from tests.support.gateway import Gateway, running
from tests.support.services.polling import wait_until
from tests.support.vendor import (
    CUT,
    Asked,
    Reply,
    SimulatedVendor,
    body_of,
    choice,
    json_reply,
    usage_of,
)

PROMPT = {"model": "sim/m", "prompt": "one two"}


def error_of(response: requests.Response) -> tuple[int, str, str | None, str | None]:
    """Return an error's status, type, code and param, having checked the body's form."""
    body = response.json()
    assert set(body) == {"error"}
    error = body["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-request-id"].startswith("req_")
    return response.status_code, error["type"], error["code"], error["param"]


def test_a_completion_is_answered_and_recorded(gateway: Gateway, vendor: SimulatedVendor) -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 2, "audio_tokens": None}}
    usage = usage_of(5, 7, completion_tokens_details={"reasoning_tokens": 4}, **details)
    vendor.reply(
        json_reply(
            body_of(choice("Hello", "stop"), usage=usage, system_fingerprint="fp", extra=1),
            x_request_id="vendor-1",
        )
    )
    response = gateway.post({**PROMPT, "max_tokens": 9, "user": "u1"})
    assert response.status_code == 200
    assert response.json() == {
        "id": "cmpl-vendor",
        "object": "text_completion",
        "created": 1_790_000_000,
        "model": "m-2026-01-01",
        "system_fingerprint": "fp",
        "choices": [{"index": 0, "text": "Hello", "logprobs": None, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 5,
            "completion_tokens": 7,
            "total_tokens": 12,
            "prompt_tokens_details": {"cached_tokens": 2, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 4,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        },
    }
    event = gateway.event()
    assert event.request_id == response.headers["x-request-id"]
    assert (event.account_id, event.api_key_id, event.user) == ("acme", gateway.key_id, "u1")
    assert (event.vendor, event.model, event.model_served) == ("sim", "m", "m-2026-01-01")
    assert (event.status, event.source, event.stream) == ("completed", "vendor", False)
    assert (event.prompt_tokens, event.completion_tokens, event.total_tokens) == (5, 7, 12)
    assert (event.cached_tokens, event.reasoning_tokens) == (2, 4)
    assert (event.vendor_request_id, event.http_status, event.attempts) == ("vendor-1", 200, 1)
    assert vendor.asked[0].path == "/v1/completions"
    assert vendor.asked[0].headers["authorization"] == "Bearer sk-simulated-secret"
    assert vendor.asked[0].body == {
        "model": "m",
        "prompt": "one two",
        "max_tokens": 9,
        "user": "u1",
    }


def test_a_vendor_that_gives_no_usage_is_counted_and_marked(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(json_reply(body_of(choice("Hello there, world.", "stop"))))
    usage = gateway.post({**PROMPT, "prompt": "Say hello to the world"}).json()["usage"]
    assert usage["prompt_tokens"] == 5
    assert usage["completion_tokens"] == 5
    event = gateway.event()
    assert event.source == "estimated"
    assert (event.prompt_tokens, event.completion_tokens, event.total_tokens) == (5, 5, 10)


def test_choices_of_several_prompts_come_in_index_order(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    shuffled = [choice(f"text {index}", "stop", index) for index in (2, 0, 3, 1)]
    vendor.reply(json_reply(body_of(*shuffled, usage=usage_of(2, 4))))
    choices = gateway.post({**PROMPT, "prompt": ["a", "b"], "n": 2}).json()["choices"]
    assert [(c["index"], c["text"]) for c in choices] == [(i, f"text {i}") for i in range(4)]
    assert gateway.event().total_tokens == 6


def test_logprobs_reach_the_caller_as_the_vendor_gave_them(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    logprobs = {
        "tokens": ["a", "b"],
        "token_logprobs": [None, -0.5],
        "top_logprobs": [None, {"b": -0.5}],
        "text_offset": [0, 1],
    }
    whole = {**choice("ab", "length"), "logprobs": logprobs}
    vendor.reply(json_reply(body_of(whole, usage=usage_of(1, 0))))
    body = {**PROMPT, "max_tokens": 0, "echo": True, "logprobs": 5}
    assert gateway.post(body).json()["choices"][0]["logprobs"] == logprobs
    assert vendor.asked[0].body == {**body, "model": "m"}
    assert gateway.event().completion_tokens == 0


BAD: list[tuple[Any, int, str, str | None]] = [
    (b"", 400, "invalid_json", None),
    (b"[]", 400, "invalid_json", None),
    (b"null", 400, "invalid_json", None),
    (b'"x"', 400, "invalid_json", None),
    (b"{", 400, "invalid_json", None),
    (b'{"model": "sim/m", "prompt": "\xff"}', 400, "invalid_json", None),
    (b'\xef\xbb\xbf{"model": "sim/m", "prompt": "x"}', 400, "invalid_json", None),
    (b'{"model": "sim/m", "prompt": "x", "temperature": NaN}', 400, "invalid_json", None),
    (b'{"a":' + b"[" * 200 + b"]" * 200 + b"}", 400, "invalid_json", None),
    (b'{"a":' + b"[" * 100_000, 400, "invalid_json", None),
    ({}, 400, "missing_required_parameter", "model"),
    ({"model": "sim/m"}, 400, "missing_required_parameter", "prompt"),
    ({"model": "sim/m", "prompt": None}, 400, "missing_required_parameter", "prompt"),
    ({**PROMPT, "stop": ["a", "b", 3]}, 400, "invalid_type", "stop[2]"),
    ({**PROMPT, "stream": "false"}, 400, "invalid_type", "stream"),
    ({**PROMPT, "max_tokens": True}, 400, "invalid_type", "max_tokens"),
    ({**PROMPT, "logprobs": 6}, 400, "invalid_value", "logprobs"),
    ({**PROMPT, "max_completion_tokens": 5}, 400, "unsupported_parameter", "max_completion_tokens"),
    ({**PROMPT, "prompt": [15496, 995]}, 400, "unsupported_parameter", "prompt"),
    ({**PROMPT, "stream_options": {}}, 400, "invalid_value", "stream_options"),
    ({**PROMPT, "model": "gpt-4o"}, 400, "invalid_value", "model"),
    ({**PROMPT, "model": "nope/x"}, 404, "model_not_found", "model"),
    ({**PROMPT, "model": "keyless/x"}, 404, "model_not_found", "model"),
    ({**PROMPT, "model": "picky/m", "suffix": "x"}, 400, "unsupported_parameter", "suffix"),
]


@pytest.mark.parametrize(("body", "status", "code", "param"), BAD)
def test_a_bad_request_gets_an_error_that_names_the_field_and_costs_nothing(
    gateway: Gateway, vendor: SimulatedVendor, body: Any, status: int, code: str, param: str | None
) -> None:
    response = gateway.post(body)
    assert error_of(response) == (status, "invalid_request_error", code, param)
    assert len(response.content) < 1000
    assert vendor.asked == []
    assert gateway.redis.keys() == []
    assert gateway.post(PROMPT).status_code == 200


def test_an_unknown_vendor_lists_the_known_ones_and_a_missing_key_names_its_setting(
    gateway: Gateway,
) -> None:
    unknown = gateway.post({**PROMPT, "model": "nope/x"}).json()["error"]["message"]
    assert "sim" in unknown
    assert "openai" in unknown
    missing = gateway.post({**PROMPT, "model": "keyless/x"}).json()["error"]["message"]
    assert "NO_SUCH_KEY" in missing


def test_every_content_type_is_read_as_json(gateway: Gateway) -> None:
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert gateway.post(PROMPT, headers=form).status_code == 200


def test_a_body_over_the_limit_is_refused_unread_and_one_below_is_not(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    big = {**PROMPT, "prompt": "x" * (3 << 20)}
    assert gateway.post(big).status_code == 200
    assert len(vendor.asked[0].body["prompt"]) == 3 << 20
    over = b'{"model": "sim/m", "prompt": "' + b"x" * (10 << 20)
    assert error_of(gateway.post(over))[:3] == (
        413,
        "invalid_request_error",
        "request_too_large",
    )
    host, port = gateway.base_url.removeprefix("http://").removesuffix("/v5").split(":")
    with socket.create_connection((host, int(port))) as sock:
        head = f"POST /v5/completions HTTP/1.1\r\nhost: x\r\nx-api-key: {gateway.api_key}\r\n"
        sock.sendall(f"{head}content-length: {11 << 20}\r\n\r\n".encode())
        assert b" 413 " in sock.recv(1000)  # answered before a byte of the body was sent


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v5/completions", 405, "method_not_allowed"),
        ("DELETE", "/v5/models", 405, "method_not_allowed"),
        ("GET", "/v5/nothing", 404, "not_found"),
        ("POST", "/", 404, "not_found"),
    ],
)
def test_every_route_and_method_answers_with_the_same_error_body(
    gateway: Gateway, method: str, path: str, status: int, code: str
) -> None:
    url = gateway.base_url.removesuffix("/v5") + path
    response = requests.request(method, url, timeout=60)
    assert error_of(response) == (status, "invalid_request_error", code, None)
    assert (response.headers.get("allow") is not None) == (status == 405)


KEYS = [{}, {"x-api-key": ""}, {"x-api-key": "tg_wrong"}, {"authorization": "Bearer sk-other-1"}]


@pytest.mark.parametrize("headers", [*KEYS, {"authorization": "Basic x"}, {"x-api-key": "\u00fc"}])
def test_a_wrong_key_is_told_nothing_but_that(gateway: Gateway, headers: dict[str, str]) -> None:
    encoded = {name: value.encode("latin-1") for name, value in headers.items()}
    url = f"{gateway.base_url}/completions"
    response = requests.post(url, json=PROMPT, headers=encoded, timeout=60)
    assert error_of(response) == (401, "authentication_error", "invalid_api_key", None)
    missing = requests.post(url, json=PROMPT, timeout=60)
    assert response.json() == missing.json()


def test_a_bearer_token_is_a_key_too(gateway: Gateway) -> None:
    bearer = {"authorization": f"Bearer {gateway.api_key}", "x-api-key": ""}
    assert gateway.post(PROMPT, headers=bearer).status_code == 200


def test_a_key_serves_its_own_accounts_alone(gateway: Gateway) -> None:
    gateway.add_account("other")
    chosen = gateway.post(PROMPT, headers={"x-selected-account-id": "other"})
    refused = (403, "permission_error", "account_not_allowed", "x-selected-account-id")
    assert error_of(chosen) == refused
    assert gateway.post(PROMPT, headers={"x-selected-account-id": "acme"}).status_code == 200
    assert gateway.event().account_id == "acme"


def test_a_key_without_the_scope_is_refused(gateway: Gateway) -> None:
    secret = gateway.add_account("readers", "usage")
    response = gateway.post(PROMPT, headers={"x-api-key": secret})
    assert error_of(response) == (403, "permission_error", "scope_missing", None)


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


def test_a_caller_that_gives_up_waiting_is_recorded_with_the_vendors_count(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    answer = threading.Event()
    whole = body_of(choice("late", "stop"), usage=usage_of(5, 7))
    vendor.reply(Reply([b" ", answer, json_reply(whole).body[0]]))
    with pytest.raises(requests.Timeout):
        requests.post(
            f"{gateway.base_url}/completions",
            json=PROMPT,
            headers={"x-api-key": gateway.api_key},
            timeout=0.5,
        )
    answer.set()
    event = gateway.event()
    assert (event.source, event.total_tokens) == ("vendor", 12)


def test_unsupported_parameters_are_dropped_and_named_where_the_vendors_entry_says_so(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    body = {**PROMPT, "model": "lax/m", "suffix": "end", "best_of": 1, "logit_bias": {"5": 1}}
    response = gateway.post(body)
    assert response.headers["x-tollgate-dropped"] == "logit_bias, suffix"
    assert set(vendor.asked[0].body) == {"model", "prompt"}
    neutral: dict[str, Any] = {"best_of": 1, "suffix": None, "logit_bias": {}}
    response = gateway.post({**PROMPT, **neutral, "model": "picky/m"})
    assert response.status_code == 200
    assert "x-tollgate-dropped" not in response.headers


def test_fields_beyond_the_contract_are_forwarded(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    assert gateway.post({**PROMPT, "top_k": 5, "min_p": None}).status_code == 200
    assert vendor.asked[0].body == {"model": "m", "prompt": "one two", "top_k": 5}


@pytest.mark.parametrize(
    "name", ["a/b/c", "ft:m:org::abc", "m:free", "Llama-3.1-8B", "accounts/acme/routers/fast-1"]
)
def test_a_model_name_reaches_vendor_and_ledger_as_it_was_written(
    gateway: Gateway, vendor: SimulatedVendor, name: str
) -> None:
    assert gateway.post({**PROMPT, "model": f"sim/{name}"}).status_code == 200
    assert vendor.asked[0].body["model"] == name
    assert gateway.event().model == name


def test_token_ids_are_forwarded_where_the_vendor_takes_them(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.default = lambda asked: json_reply(
        body_of(*(choice("x", "stop", at) for at in range(len(asked.body["prompt"]) % 3 or 1)))
    )
    for prompt in ([1, 2, 3], [[1, 2], [3]]):
        body = {**PROMPT, "model": "tokens/m", "prompt": prompt}
        assert gateway.post(body).json()["usage"]["prompt_tokens"] == 3
        assert vendor.asked[-1].body["prompt"] == prompt


def test_without_redis_a_request_is_refused_where_the_deployment_says_so(
    settings: Settings, vendor: SimulatedVendor
) -> None:
    with running(dataclasses.replace(settings, on_redis_down="refuse")) as gateway:
        gateway.redis.set("usage:open", "not a hash, so that opening a record fails")
        response = gateway.post(PROMPT)
    assert error_of(response)[:3] == (503, "server_error", "accounting_unavailable")
    assert vendor.asked == []


def test_an_sdk_that_retries_is_visible_in_the_event(gateway: Gateway) -> None:
    assert gateway.post(PROMPT, headers={"x-stainless-retry-count": "2"}).status_code == 200
    assert gateway.event().client_retry_count == 2


def test_the_models_are_listed_in_openais_shape(gateway: Gateway) -> None:
    models = gateway.get("/models").json()
    assert models["object"] == "list"
    ids = {model["id"] for model in models["data"]}
    assert "sim/*" in ids
    assert "keyless/*" not in ids
    assert all(model["object"] == "model" for model in models["data"])
    assert error_of(requests.get(f"{gateway.base_url}/models", timeout=60))[0] == 401


def test_health_asks_no_vendor(gateway: Gateway, vendor: SimulatedVendor) -> None:
    root = gateway.base_url.removesuffix("/v5")
    assert requests.get(f"{root}/livez", timeout=60).json() == {"status": "ok"}
    ready = requests.get(f"{root}/readyz", timeout=60)
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    assert (ready.json()["redis"], ready.json()["ledger"]) == ("ok", "ok")
    assert vendor.asked == []


def test_a_connection_to_the_vendor_is_used_again(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    for _ in range(3):
        assert gateway.post(PROMPT).status_code == 200
    wait_until(lambda: len(vendor.asked) == 3)
    assert {asked.connection for asked in vendor.asked} == {1}


def test_a_default_reply_is_what_the_request_asks_for(vendor: SimulatedVendor) -> None:
    asked = Asked("/v1/completions", {}, {"prompt": ["a b", "c"], "max_tokens": 2, "n": 2}, 1)
    assert b'"total_tokens": 11' in vendor.default(asked).body[0]  # type: ignore[operator]
