"""Requests that are refused, by whom they come from or what they hold."""

import socket
from typing import Any

import pytest
import requests

from tests.api.asking import PROMPT, error_of
from tests.support.gateway import Gateway
from tests.support.vendor import (
    SimulatedVendor,
)

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
    assert len(response.content) < 2000
    assert vendor.asked == []
    assert [it for it in gateway.redis.scan_iter() if not it.startswith(b"usage:refusals")] == []
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
        ("POST", "/", 405, "method_not_allowed"),
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
def test_a_wrong_key_gets_a_challenge_and_is_not_repeated(
    gateway: Gateway, headers: dict[str, str]
) -> None:
    encoded = {name: value.encode("latin-1") for name, value in headers.items()}
    url = f"{gateway.base_url}/completions"
    response = requests.post(url, json=PROMPT, headers=encoded, timeout=60)
    assert error_of(response) == (401, "authentication_error", "invalid_api_key", None)
    sent = ', error="invalid_token"' if headers else ""
    assert response.headers["www-authenticate"] == f'Bearer realm="tollgate"{sent}'
    assert "tg_wrong" not in response.text
    assert "other-1" not in response.text


def test_a_key_that_is_unknown_revoked_or_expired_gets_one_sentence(gateway: Gateway) -> None:
    key, revoked = gateway.accounts.create_key(["acme"], ["completions"])
    gateway.accounts.revoke(key.key_id)
    unknown = f"tg_{'x' * 43}"
    told = {
        gateway.post(PROMPT, headers={"x-api-key": it}).json()["error"]["message"]
        for it in (unknown, revoked)
    }
    assert told == {"The API key is missing or invalid."}


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


def test_a_disabled_account_is_refused_until_it_is_enabled(gateway: Gateway) -> None:
    gateway.add_account("other")
    _, both = gateway.accounts.create_key(["acme", "other"], ["completions"])
    refused = (403, "permission_error", "account_disabled")
    gateway.accounts.disable("acme")
    for path in (gateway.post(PROMPT), gateway.get("/models")):
        assert error_of(path)[:3] == refused
    key = {"x-api-key": both}
    chosen = gateway.post(PROMPT, headers=key | {"x-selected-account-id": "acme"})
    assert error_of(chosen) == (*refused, "x-selected-account-id")
    other = gateway.post(PROMPT, headers=key | {"x-selected-account-id": "other"})
    assert (other.status_code, gateway.event().account_id) == (200, "other")


def test_a_key_without_the_scope_is_refused(gateway: Gateway) -> None:
    secret = gateway.add_account("readers", "usage")
    response = gateway.post(PROMPT, headers={"x-api-key": secret})
    assert error_of(response) == (403, "permission_error", "scope_missing", None)
