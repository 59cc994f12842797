"""`Idempotency-Key` on `POST /v5/completions`: one vendor call, one event, one answer."""

import dataclasses
import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests

from app.formats.sse import KEEP_ALIVE
from app.settings import Settings
from app.storage.redis.keys import OPEN, OWNER
from tests.support.gateway import Gateway, running, sse_events, text_of
from tests.support.services.polling import wait_until
from tests.support.vendor import (
    CUT,
    DONE,
    Reply,
    SimulatedVendor,
    body_of,
    choice,
    json_reply,
    stream_reply,
    usage_of,
)

PROMPT: dict[str, Any] = {"model": "sim/m", "prompt": "one two"}
STREAM: dict[str, Any] = {**PROMPT, "stream": True, "stream_options": {"include_usage": True}}
HELLO = [body_of(choice("Hel")), body_of(choice("lo")), body_of(choice("", "stop"))]
TRAILER = body_of(usage=usage_of(5, 7))
#: Of the journey, not of the answer.
OWN = frozenset({"date", "server", "connection", "content-length", "transfer-encoding"}) | {
    "x-request-id",
    "x-tollgate-replay-of",
}


def ask(gateway: Gateway, body: Any = PROMPT, key: str = "k1", **headers: str) -> requests.Response:
    return gateway.post(body, headers={"idempotency-key": key, **headers})


def code(response: requests.Response) -> tuple[int, str | None]:
    return response.status_code, response.json()["error"]["code"]


def told(response: requests.Response) -> tuple[int, dict[str, str], bytes]:
    """Return what two answers must have in common."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    return (
        response.status_code,
        {name: value for name, value in headers.items() if name not in OWN},
        response.content.replace(KEEP_ALIVE, b""),
    )


def cut_answer(gateway: Gateway, body: Any) -> tuple[dict[str, str], bytes]:
    """Ask for a stream that must be cut; return its headers and what came of its body."""
    host = gateway.base_url.removeprefix("http://").removesuffix("/v5")
    connection = http.client.HTTPConnection(host, timeout=60)
    headers = {"x-api-key": gateway.api_key, "idempotency-key": "k1"}
    connection.request("POST", "/v5/completions", json.dumps(body), headers)
    response = connection.getresponse()
    assert response.status == 200
    with pytest.raises(http.client.IncompleteRead) as caught:
        response.read()
    connection.close()
    kept = {name.lower(): value for name, value in response.getheaders()}
    return {n: v for n, v in kept.items() if n not in OWN}, caught.value.partial


@pytest.mark.parametrize("body", [PROMPT, {**PROMPT, "model": "lax/m", "suffix": "x"}, STREAM])
def test_a_repeated_request_is_answered_byte_for_byte_and_calls_and_costs_nothing(
    gateway: Gateway, vendor: SimulatedVendor, body: dict[str, Any]
) -> None:
    first = ask(gateway, body)
    assert first.status_code == 200
    assert "x-tollgate-replay-of" not in first.headers
    for _ in range(2):
        again = ask(gateway, body)
        assert told(again) == told(first)
        assert again.headers["x-tollgate-replay-of"] == first.headers["x-request-id"]
        assert again.headers["x-request-id"] != first.headers["x-request-id"]
    assert len(vendor.asked) == 1
    assert gateway.event().request_id == first.headers["x-request-id"]


def test_without_a_key_two_requests_are_two_calls_and_two_events(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    for _ in range(2):
        assert gateway.post(PROMPT).status_code == 200
    assert len(gateway.events(2)) == len(vendor.asked) == 2
    assert gateway.redis.keys("idempotency:*") == []


def test_another_body_under_the_same_key_is_refused(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    ask(gateway)
    refused = ask(gateway, {**PROMPT, "max_tokens": 1})
    assert code(refused) == (409, "idempotency_key_reused")
    assert refused.headers["x-should-retry"] == "false"
    assert len(vendor.asked) == 1


def test_a_key_belongs_to_the_account_and_not_to_the_api_key(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    first = ask(gateway)
    _, second_key = gateway.accounts.create_key(["acme"], frozenset({"completions"}))
    assert told(ask(gateway, **{"x-api-key": second_key})) == told(first)
    other = gateway.add_account("beta")
    assert "x-tollgate-replay-of" not in ask(gateway, **{"x-api-key": other}).headers
    assert len(vendor.asked) == 2


def test_a_stream_that_was_slow_is_repeated_without_its_keep_alives(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    go_on = threading.Event()
    vendor.reply(stream_reply(HELLO[0], go_on, *HELLO[1:], TRAILER, DONE))
    headers = {"idempotency-key": "k1"}
    with gateway.post(STREAM, headers=headers, stream=True) as first:
        packets = first.iter_content(None)
        seen = b""
        while KEEP_ALIVE not in seen:
            seen += next(packets)
        go_on.set()
        seen += b"".join(packets)
    again = ask(gateway, STREAM)
    assert b"keep-alive" not in again.content
    assert again.content == seen.replace(KEEP_ALIVE, b"")
    assert text_of(sse_events(again)) == "Hello"


@pytest.mark.parametrize("model", ["sim/m", "drain/m"])
def test_a_stream_whose_caller_left_is_read_to_its_end_and_waits_for_it(
    gateway: Gateway, vendor: SimulatedVendor, model: str
) -> None:
    go_on, body = threading.Event(), {**STREAM, "model": model}
    vendor.reply(stream_reply(HELLO[0], go_on, *HELLO[1:], TRAILER, DONE))
    with gateway.post(body, headers={"idempotency-key": "k1"}, stream=True) as first:
        assert b"Hel" in next(first.iter_content(None))
    with ThreadPoolExecutor(1) as pool:
        again = pool.submit(ask, gateway, body)
        go_on.set()
    events = sse_events(again.result())
    assert (text_of(events), events[-1]) == ("Hello", ("done", "[DONE]"))
    event = gateway.event()
    assert (event.status, event.source, event.total_tokens) == ("completed", "vendor", 12)
    assert (len(vendor.asked), vendor.hang_ups) == (1, [])


def test_a_stream_that_broke_off_is_repeated_with_its_failure(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(stream_reply(*HELLO[:2], CUT))
    first = cut_answer(gateway, STREAM)
    wait_until(lambda: not gateway.redis.hlen(OPEN))
    again = cut_answer(gateway, STREAM)
    assert again == first
    assert b"Hel" in again[1]
    assert b"event: error\n" in again[1]
    assert len(vendor.asked) == 1
    assert gateway.event().status == "truncated"


def test_a_stream_that_failed_at_no_cost_after_it_began_may_be_repeated(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    refusal, go_on = json.dumps({"error": {"message": "later"}}).encode(), threading.Event()
    vendor.reply(Reply([go_on, refusal], 429))
    with gateway.post(STREAM, headers={"idempotency-key": "k1"}, stream=True) as first:
        packets = first.iter_content(None)
        assert next(packets) == KEEP_ALIVE  # the status is out
        go_on.set()
        with pytest.raises(requests.exceptions.ChunkedEncodingError):
            list(packets)
    again = ask(gateway, STREAM)
    assert (again.status_code, sse_events(again)[-1]) == (200, ("done", "[DONE]"))
    assert len(vendor.asked) == 2
    assert [event.status for event in gateway.events(2)] == ["failed", "completed"]


NO = {"error": {"message": "no"}}
FREE: list[tuple[str, Reply | None, bool, int]] = [
    (model, reply, stream, status)
    for stream in (False, True)
    for model, reply, status in (
        ("sim/m", json_reply(NO, 400), 400),
        ("sim/m", json_reply(NO, 401), 502),
        ("sim/m", json_reply(NO, 429), 429),
        ("sim/m", json_reply(NO, 500), 502),
        ("sim/m", json_reply(NO, 529), 503),
    )
]
FREE.append(("down/m", None, False, 502))


@pytest.mark.parametrize(("model", "reply", "stream", "status"), FREE)
def test_what_failed_at_no_cost_is_not_kept_and_the_same_key_calls_again(
    gateway: Gateway,
    vendor: SimulatedVendor,
    model: str,
    reply: Reply | None,
    stream: bool,
    status: int,
) -> None:
    body = {**PROMPT, "model": model, "stream": stream}
    for _ in range(2):
        if reply:
            vendor.reply(reply)
        failed = ask(gateway, body)
        assert failed.status_code == status
        assert "x-tollgate-replay-of" not in failed.headers
    assert len(vendor.asked) == (2 if reply else 0)
    assert gateway.redis.keys("idempotency:*") == []
    assert ask(gateway, PROMPT).status_code == 200


def test_a_request_that_is_refused_by_us_leaves_its_key_free(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    for body in ({**PROMPT, "n": "x"}, {**PROMPT, "model": "picky/m", "suffix": "x"}):
        assert ask(gateway, body).status_code == 400
    assert ask(gateway).status_code == 200
    assert len(vendor.asked) == 1


COSTLY: list[tuple[str, Reply, int]] = [
    ("sim/m", Reply([b"nonsense"]), 502),
    ("sim/m", Reply([b'{"choices"', CUT]), 502),
    ("quick/m", Reply([60.0]), 504),
]


@pytest.mark.parametrize(("model", "reply", "status"), COSTLY)
def test_a_failure_that_may_have_cost_something_is_kept(
    gateway: Gateway, vendor: SimulatedVendor, model: str, reply: Reply, status: int
) -> None:
    vendor.reply(reply)
    body = {**PROMPT, "model": model}
    first = ask(gateway, body)
    assert first.status_code == status
    assert first.headers["x-should-retry"] == "false"
    assert told(ask(gateway, body)) == told(first)
    assert len(vendor.asked) == 1
    assert gateway.event().status == "failed"


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_is_too_large_to_keep_is_given_once_and_never_charged_again(
    gateway: Gateway, vendor: SimulatedVendor, stream: bool
) -> None:
    text, body = "x" * (5 << 20), {**PROMPT, "stream": stream}
    whole = json_reply(body_of(choice(text, "stop"), usage=usage_of(5, 7)))
    pieces = stream_reply(body_of(choice(text)), HELLO[2], TRAILER, DONE)
    vendor.reply(pieces if stream else whole)
    assert text in ask(gateway, body).text
    again = ask(gateway, body)
    assert code(again) == (409, "idempotency_response_not_stored")
    assert again.headers["x-should-retry"] == "false"
    assert len(vendor.asked) == 1
    assert gateway.event().total_tokens == 12


@pytest.mark.parametrize("key", ["", "a b", "é", "k" * 256])
def test_a_key_of_no_use_is_refused_before_anything_is_asked(
    gateway: Gateway, vendor: SimulatedVendor, key: str
) -> None:
    refused = gateway.post(PROMPT, headers={"idempotency-key": key.encode("latin-1")})
    assert code(refused) == (400, "invalid_value")
    assert refused.json()["error"]["param"] == "idempotency-key"
    assert vendor.asked == []


def test_without_redis_a_key_is_refused_rather_than_ignored(
    settings: Settings, vendor: SimulatedVendor
) -> None:
    with running(dataclasses.replace(settings, redis_url="redis://127.0.0.1:1/0")) as gateway:
        assert code(ask(gateway)) == (503, "accounting_unavailable")
        assert vendor.asked == []
        assert gateway.post(PROMPT).status_code == 200


def test_after_a_crash_the_same_key_is_a_new_call(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    go_on = threading.Event()
    vendor.reply(stream_reply(HELLO[0], go_on))
    with gateway.post(STREAM, headers={"idempotency-key": "k1"}, stream=True) as first:
        next(first.iter_content(None))
        (owner,) = gateway.redis.keys(f"{OWNER}*")
        gateway.redis.delete(owner)  # as if the process had not renewed it
        assert ask(gateway, STREAM).status_code == 200
        go_on.set()
    assert len(vendor.asked) == 2
    assert {event.status for event in gateway.events(2)} == {"completed", "truncated"}


def test_an_answer_that_failed_in_an_unknown_way_is_not_made_again(
    settings: Settings, vendor: SimulatedVendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of ours after the vendor's answer: that call may have been charged."""

    def fail(_: object) -> bytes:
        raise RuntimeError("a fault")

    with running(settings) as gateway:
        with monkeypatch.context() as patch:
            patch.setattr("app.api.schemas.completion.dump_chunk", fail)
            assert ask(gateway).status_code == 500
        assert code(ask(gateway)) == (409, "idempotency_response_not_stored")
        assert gateway.event().total_tokens == 5
    assert len(vendor.asked) == 1
