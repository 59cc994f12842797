"""What holds at both endpoints: one event a request, errors, headers, keys, refusals, silence."""

import http.client
import json
import threading
from typing import Any

import pytest
import requests
from redis import Redis

from app.usage.redis.refusal_counts import RefusalCounts
from tests.support.gateway import Gateway, sse_events
from tests.support.services.polling import wait_until
from tests.support.vendor import (
    CUT,
    DONE,
    Reply,
    SimulatedVendor,
    body_of,
    choice,
    completed,
    json_reply,
    stream_reply,
)
from tests.support.vendor_chat import chat_body, chatted, delta

TEXT: dict[str, Any] = {"model": "sim/m", "prompt": "one two"}
CHAT: dict[str, Any] = {"model": "sim/m", "messages": [{"role": "user", "content": "one two"}]}
BODIES = {"completions": TEXT, "chat/completions": CHAT}
END = ("done", "[DONE]")


@pytest.fixture(params=BODIES)
def path(request: pytest.FixtureRequest, vendor: SimulatedVendor) -> str:
    """An endpoint that calls models; the vendor answers requests to both."""
    vendor.default = lambda asked: (
        chatted(asked.body) if "messages" in asked.body else completed(asked.body)
    )
    return str(request.param)


def post(gateway: Gateway, path: str, **fields: Any) -> requests.Response:
    """Ask at an endpoint; `headers` are headers, the rest are fields of the body."""
    headers = {"x-api-key": gateway.api_key, **fields.pop("headers", {})}
    body = {**BODIES[path], **fields}
    stream = bool(body.get("stream"))
    url = f"{gateway.base_url}/{path}"
    return requests.post(url, json=body, headers=headers, stream=stream, timeout=60)


def chunk(path: str, text: str, finish: str | None = None) -> dict[str, Any]:
    """Return a vendor's chunk."""
    if path == "completions":
        return body_of(choice(text, finish))
    return chat_body(delta(text, finish))


def test_a_request_is_one_event_whole_and_streamed(gateway: Gateway, path: str) -> None:
    whole = post(gateway, path, user="ann")
    assert whole.headers["x-tollgate-attempts"] == "1"
    streamed = post(gateway, path, stream=True)
    assert sse_events(streamed)[-1] == END
    first, second = gateway.events(2)
    assert (first.status, second.status) == ("completed", "completed")
    assert (first.stream, second.stream, first.user) == (False, True, "ann")
    assert whole.json()["usage"]["total_tokens"] == first.total_tokens == second.total_tokens > 0


def test_an_id_that_the_vendor_left_out_has_the_endpoints_prefix(
    gateway: Gateway, vendor: SimulatedVendor, path: str
) -> None:
    prefix = {"completions": "cmpl-", "chat/completions": "chatcmpl-"}[path]
    reply = stream_reply(
        {**chunk(path, "a"), "id": ""}, {**chunk(path, "b", "stop"), "id": ""}, DONE
    )
    vendor.reply(reply)
    events = sse_events(post(gateway, path, stream=True))
    ids = {body["id"] for name, body in events if name is None}
    assert ids == {f"{prefix}{gateway.event().event_id}"}


@pytest.mark.parametrize("stream", [False, True])
def test_a_retry_with_the_same_key_gets_the_first_response(
    gateway: Gateway, vendor: SimulatedVendor, path: str, stream: bool
) -> None:
    key = {"idempotency-key": "k1"}
    first = post(gateway, path, stream=stream, headers=key)
    body = first.content
    again = post(gateway, path, stream=stream, headers=key)
    assert again.content == body
    assert again.headers["x-tollgate-replay-of"] == first.headers["x-request-id"]
    assert len(vendor.asked) == 1
    assert gateway.event().status == "completed"


def test_a_key_is_of_one_body_and_so_of_one_endpoint(gateway: Gateway, path: str) -> None:
    key = {"idempotency-key": "k1"}
    assert post(gateway, path, headers=key).ok
    (other,) = BODIES.keys() - {path}
    response = post(gateway, other, headers=key)
    assert response.status_code == 409
    assert response.json()["error"]["code"] == "idempotency_key_reused"


def test_a_vendors_error_keeps_its_status_before_the_first_chunk(
    gateway: Gateway, vendor: SimulatedVendor, path: str
) -> None:
    error = {"error": {"message": "slow down", "type": "t", "param": None, "code": "c"}}
    for stream in (False, True):
        vendor.reply(json_reply(error, 429, retry_after="3"))
        response = post(gateway, path, stream=stream)
        assert response.status_code == 429
        assert response.headers["retry-after"] == "3"
        assert response.json()["error"]["code"] == "vendor_rate_limited"
    assert [event.status for event in gateway.events(2)] == ["failed", "failed"]


def test_a_stream_that_fails_ends_with_an_error_event_and_is_cut(
    gateway: Gateway, vendor: SimulatedVendor, path: str
) -> None:
    vendor.reply(stream_reply(chunk(path, "one"), CUT))
    host = gateway.base_url.removeprefix("http://").removesuffix("/v5")
    connection = http.client.HTTPConnection(host, timeout=60)
    body = json.dumps({**BODIES[path], "stream": True})
    connection.request("POST", f"/v5/{path}", body, {"x-api-key": gateway.api_key})
    with pytest.raises(http.client.IncompleteRead) as caught:
        connection.getresponse().read()
    connection.close()
    assert caught.value.partial.count(b"event: error") == 1
    assert b"event: done" not in caught.value.partial
    assert gateway.event().status == "truncated"


def test_silence_is_filled_with_comments(
    gateway: Gateway, vendor: SimulatedVendor, path: str
) -> None:
    gate = threading.Event()
    vendor.reply(
        Reply(
            [
                *stream_reply(chunk(path, "one")).body,
                gate,
                *stream_reply(chunk(path, " two", "stop"), DONE).body,
            ],
            200,
            {"content-type": "text/event-stream"},
        )
    )
    response = post(gateway, path, stream=True)
    received = b""
    for packet in response.iter_content(None):
        received += packet
        if b": " in received and b"keep-alive" in received:
            gate.set()
    assert received.index(b"keep-alive") < received.index(b" two")


def test_a_refused_request_is_counted_for_its_endpoint(
    gateway: Gateway, redis: "Redis", path: str
) -> None:
    assert post(gateway, path, model="nobody/m").status_code == 404
    assert post(gateway, path, headers={"x-api-key": "tg_wrong"}).status_code == 401
    assert post(gateway, path, temperature=3).json()["error"]["param"] == "temperature"
    counts = RefusalCounts(redis)
    found: dict[tuple[str, str], int] = {}

    def are_there() -> bool:
        batch = counts.take("batch")
        if batch is not None:
            found.update({(it.endpoint, it.reason): n for it, n in batch.counts.items()})
            counts.drop("batch")
        return len(found) == 3

    wait_until(are_there)
    endpoint = path.replace("/", ".")
    reasons = ("model_not_found", "invalid_api_key", "invalid_value")
    assert found == {(endpoint, reason): 1 for reason in reasons}


def test_a_key_without_the_scope_is_refused(gateway: Gateway, path: str) -> None:
    reader = gateway.add_account("readers", "usage")
    assert post(gateway, path, headers={"x-api-key": reader}).status_code == 403


@pytest.mark.parametrize("elsewhere", ["responses", "inference", "embeddings", "chat"])
def test_an_endpoint_of_another_api_says_which_there_are(gateway: Gateway, elsewhere: str) -> None:
    response = requests.post(f"{gateway.base_url}/{elsewhere}", json=CHAT, timeout=60)
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (404, "not_found")
    for told in (f"`/v5/{elsewhere}`", "POST /v5/chat/completions`"):
        assert told in error["message"]
