"""`POST /v5/completions`, answered whole: in through HTTP, out through HTTP and the stream."""

import dataclasses
import threading
from typing import Any

import pytest
import requests

from app.settings import Settings
from tests.api.asking import PROMPT, error_of
from tests.support.gateway import Gateway, running
from tests.support.services.polling import wait_until
from tests.support.vendor import (
    Asked,
    Reply,
    SimulatedVendor,
    body_of,
    choice,
    json_reply,
    usage_of,
)


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
        "model": "sim/m-2026-01-01",
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
