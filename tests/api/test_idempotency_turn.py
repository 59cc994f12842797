"""Requests that come while another one with their idempotency key is running: they wait for it."""

import dataclasses
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
import requests

from app.formats.sse import DONE, KEEP_ALIVE
from app.settings import Settings
from app.usage.redis.idempotency_keys import Claim, IdempotencyKeys, StoredResponse
from app.vocabulary.errors import IdempotencyInProgress
from tests.api.test_idempotency import told
from tests.support.gateway import Gateway, running, sse_events
from tests.support.services.polling import wait_until
from tests.support.vendor import Reply, SimulatedVendor, completed, json_reply
from tests.support.vendor_chat import chatted
from tests.usage.redis.test_idempotency_keys import process

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * (1 << 20)}}
BODIES: dict[str, dict[str, Any]] = {
    "completions": {"model": "sim/m", "prompt": "one two"},
    "chat/completions": {"model": "sim/m", "messages": [{"role": "user", "content": [IMAGE]}]},
}
BOTH = pytest.mark.parametrize("path", BODIES)
WAITING = 4


def ask(gateway: Gateway, path: str, **fields: Any) -> requests.Response:
    headers = {"x-api-key": gateway.api_key, "idempotency-key": "k1"}
    body, url = {**BODIES[path], **fields}, f"{gateway.base_url}/{path}"
    return requests.post(url, json=body, headers=headers, timeout=60)


def at_once(path: str, body: Any) -> Reply:
    return completed(body) if path == "completions" else chatted(body)


def held(path: str, go_on: threading.Event, **fields: Any) -> Reply:
    """Return a vendor's response that stops in the middle, until `go_on`."""
    reply = at_once(path, {**BODIES[path], **fields})
    middle = len(reply.body) // 2
    return dataclasses.replace(reply, body=[*reply.body[:middle], go_on, *reply.body[middle:]])


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[Claim]:
    """The attempts to get a key that another request has: those requests wait."""
    refused: list[Claim] = []
    attempt = IdempotencyKeys.attempt

    def noted(keys: IdempotencyKeys, claim: Claim) -> Claim | StoredResponse:
        try:
            return attempt(keys, claim)
        except IdempotencyInProgress:
            refused.append(claim)
            raise

    monkeypatch.setattr(IdempotencyKeys, "attempt", noted)
    return refused


@pytest.fixture
def all_wait(
    gateway: Gateway, vendor: SimulatedVendor, refused: list[Claim]
) -> Iterator[Callable[..., list["Future[requests.Response]"]]]:
    """Return a function that sends one request, and WAITING more that wait for it."""
    with ThreadPoolExecutor(WAITING + 1) as pool:

        def start(path: str, reply: Reply, **fields: Any) -> list["Future[requests.Response]"]:
            vendor.default = lambda asked: at_once(path, asked.body)
            vendor.reply(reply)
            first = pool.submit(ask, gateway, path, **fields)
            wait_until(lambda: vendor.asked)
            others = [pool.submit(ask, gateway, path, **fields) for _ in range(WAITING)]
            wait_until(lambda: len({claim.note.request_id for claim in refused}) == WAITING)
            return [first, *others]

        yield start


@BOTH
@pytest.mark.parametrize("stream", [False, True])
def test_they_get_its_answer_and_one_call_is_made_and_counted(
    gateway: Gateway, vendor: SimulatedVendor, all_wait: Any, path: str, stream: bool
) -> None:
    go_on = threading.Event()
    asked = all_wait(path, held(path, go_on, stream=stream), stream=stream)
    assert not any(it.done() for it in asked)
    go_on.set()
    first, *others = [it.result() for it in asked]
    assert first.status_code == 200
    assert "x-tollgate-replay-of" not in first.headers
    for other in others:
        assert told(other) == told(first)
        assert other.headers["x-tollgate-replay-of"] == first.headers["x-request-id"]
    assert len(vendor.asked) == 1
    assert gateway.event().request_id == first.headers["x-request-id"]


@BOTH
@pytest.mark.parametrize("stream", [False, True])
def test_if_it_fails_at_no_cost_one_of_them_runs_and_the_others_get_its_answer(
    gateway: Gateway, vendor: SimulatedVendor, all_wait: Any, path: str, stream: bool
) -> None:
    go_on = threading.Event()
    asked = all_wait(path, Reply([go_on, b'{"error": {"message": "later"}}'], 429), stream=stream)
    go_on.set()
    first, *others = [it.result() for it in asked]
    assert first.status_code == 429
    assert {it.status_code for it in others} == {200}
    (ran,) = [it for it in others if "x-tollgate-replay-of" not in it.headers]
    assert {it.headers.get("x-tollgate-replay-of") for it in others} == {
        None,
        ran.headers["x-request-id"],
    }
    assert all(told(it) == told(ran) for it in others)
    assert len(vendor.asked) == 2
    assert [it.status for it in gateway.events(2)] == ["failed", "completed"]


@BOTH
@pytest.mark.parametrize("stream", [False, True])
def test_if_it_fails_and_may_have_cost_something_they_get_its_failure(
    gateway: Gateway, vendor: SimulatedVendor, all_wait: Any, path: str, stream: bool
) -> None:
    go_on = threading.Event()
    asked = all_wait(path, Reply([go_on, b"nonsense"]), stream=stream)
    go_on.set()
    first, *others = [it.result() for it in asked]
    assert (first.status_code, first.headers["x-should-retry"]) == (502, "false")
    assert all(told(it) == told(first) for it in others)
    assert len(vendor.asked) == 1
    assert gateway.event().status == "failed"


@BOTH
def test_another_body_does_not_wait(
    gateway: Gateway, vendor: SimulatedVendor, all_wait: Any, path: str
) -> None:
    go_on = threading.Event()
    asked = all_wait(path, held(path, go_on))
    other = ask(gateway, path, max_tokens=1)
    assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_key_reused")
    assert not any(it.done() for it in asked)
    go_on.set()
    assert {it.result().status_code for it in asked} == {200}
    assert len(vendor.asked) == 1


def claimed_elsewhere(gateway: Gateway, raw: bytes) -> Claim:
    """Claim the key for a request of another process, which lives and does not end it."""
    claim = process(gateway.redis, "other").claim("acme", "k1", raw, "req_0")
    assert isinstance(claim, Claim)
    return claim


def test_nobody_waits_longer_than_for_the_vendor(gateway: Gateway, vendor: SimulatedVendor) -> None:
    raw = json.dumps({"model": "quick/m", "prompt": "one two"}).encode()
    claimed_elsewhere(gateway, raw)
    response = gateway.post(raw, headers={"idempotency-key": "k1"})
    assert (response.status_code, response.headers["retry-after"]) == (409, "2")
    assert response.json()["error"]["code"] == "idempotency_in_progress"
    assert response.elapsed.total_seconds() >= 1.5
    assert vendor.asked == []


@pytest.fixture
def hasty(settings: Settings) -> Iterator[Gateway]:
    """A gateway that begins each stream with a comment if nothing comes for a tenth of a second."""
    with running(dataclasses.replace(settings, first_keep_alive_s=0.1)) as gateway:
        yield gateway


def begun(gateway: Gateway) -> tuple[requests.Response, Iterator[bytes], Claim]:
    """Return a stream that waits for a request of another process, its packets, and the claim."""
    raw = json.dumps({"model": "sim/m", "prompt": "one two", "stream": True}).encode()
    claim = claimed_elsewhere(gateway, raw)
    response = gateway.post(raw, headers={"idempotency-key": "k1"}, stream=True)
    assert response.status_code == 200
    packets = response.iter_content(None)
    assert [next(packets), next(packets)] == [KEEP_ALIVE] * 2
    return response, packets, claim


def test_a_stream_that_waits_sends_comments_and_then_the_first_ones_body(hasty: Gateway) -> None:
    _, packets, claim = begun(hasty)
    body = b'data: {"choices": []}\n\n' + DONE
    claim.store(200, [("content-type", "text/event-stream")], body)
    assert b"".join(packets).replace(KEEP_ALIVE, b"") == body


def test_a_stream_that_waits_runs_itself_if_the_first_one_failed_at_no_cost(
    hasty: Gateway, vendor: SimulatedVendor
) -> None:
    response, packets, claim = begun(hasty)
    claim.release()
    assert b"".join(packets).endswith(DONE)
    assert len(vendor.asked) == 1
    assert hasty.event().request_id == response.headers["x-request-id"]


@pytest.mark.parametrize("end", ["stored", "cut", "free"])
def test_a_stream_that_waits_ends_with_an_error_and_is_aborted_if_nothing_else_comes(
    hasty: Gateway, vendor: SimulatedVendor, end: str
) -> None:
    _, packets, claim = begun(hasty)
    error = b'{"error":{"code":"vendor_failed"}}'
    if end == "stored":
        claim.store(502, [("content-type", "application/json")], error)
    elif end == "cut":
        claim.store(200, [], b"event: error\ndata: " + error + b"\n\n", is_cut=True)
    else:
        vendor.reply(json_reply({"error": {"message": "no"}}, 500))
        claim.release()
    received: list[bytes] = []
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        received.extend(packets)
    body = b"".join(received).replace(KEEP_ALIVE, b"")
    assert body.startswith(b"event: error\ndata: {")
    assert b'"code":"vendor_' in body
    assert len(vendor.asked) == (end == "free")


def test_a_client_that_hangs_up_on_a_stream_that_waited_leaves_it_whole_for_a_retry(
    hasty: Gateway, vendor: SimulatedVendor
) -> None:
    go_on, body = threading.Event(), {"model": "sim/m", "prompt": "one two", "stream": True}
    vendor.reply(held("completions", go_on, stream=True))
    response, packets, claim = begun(hasty)
    claim.release()
    assert any(b"data: {" in packet for packet in packets)
    response.close()
    go_on.set()
    retry = hasty.post(json.dumps(body).encode(), headers={"idempotency-key": "k1"})
    assert sse_events(retry)[-1] == ("done", "[DONE]")
    assert len(vendor.asked) == 1
    event = hasty.event()
    assert (event.status, event.request_id) == ("completed", response.headers["x-request-id"])
