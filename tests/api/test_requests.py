"""`GET /v5/organization/requests/{id}`, and what a failed request leaves in the ledger."""

from typing import Any

import pytest

from app.usage.messages.call_attempt import CallAttempt
from app.usage.messages.event import UsageEvent
from tests.api.asking import error_of
from tests.api.usage_site import MIDNIGHT_S, Site, at
from tests.support.gateway import Gateway
from tests.support.services.polling import wait_until
from tests.support.vendor import (
    CUT,
    Reply,
    SimulatedVendor,
    body_of,
    choice,
    json_reply,
    stream_reply,
)

PATH = "/v5/organization/requests/"
FULL = json_reply({"error": {"message": "The engine is full."}}, 503)
LONG_PROMPT = "Dear Ms Smith, your diagnosis is a rare one"


def find(site: Site, any_id: str, key: str = "admin") -> Any:
    return site.client.get(PATH + any_id, headers={"x-api-key": site.keys[key]})


def test_a_failed_request_is_found_with_its_reason(each_site: Site) -> None:
    attempts = (CallAttempt("openai", "m", 0, 9, 503, "v-1", "vendor_overloaded", "It is full."),)
    event = at(
        MIDNIGHT_S,
        event_id="e1",
        request_id="req_1",
        vendor_request_id="v-1",
        status="failed",
        error_code="vendor_overloaded",
        error_message="It is full.",
        attempt_log=attempts,
    )
    each_site.post(event)
    for any_id in ("req_1", "e1", "v-1"):
        found = find(each_site, any_id)
        assert found.status_code == 200
        body = found.get_json()
        assert (body["object"], body["id"], body["event_id"]) == (
            "organization.request", "req_1", "e1",
        )  # fmt: skip
        assert (body["error_code"], body["error_message"]) == ("vendor_overloaded", "It is full.")
        assert [it["http_status"] for it in body["attempt_log"]] == [503]
        assert not {"process", "number"} & set(body)


@pytest.mark.parametrize(
    ("key", "status"), [("usage", 200), ("completions", 403), ("none", 401), ("wrong", 401)]
)
def test_who_may_look(each_site: Site, key: str, status: int) -> None:
    each_site.post(at(MIDNIGHT_S, request_id="req_1"))
    assert find(each_site, "req_1", key).status_code == status


def test_a_request_of_another_account_is_like_none(each_site: Site) -> None:
    each_site.post(at(MIDNIGHT_S, account_id="beta", request_id="req_1"))
    for any_id in ("req_1", "req_2", "a/b", "%00", "%FF"):
        answer = find(each_site, any_id, "usage")
        assert answer.status_code == 404
        assert answer.get_json()["error"]["code"] == "request_not_found"
    assert find(each_site, "req_1", "admin").status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_each_call_of_a_failed_request_is_kept(
    gateway: Gateway, vendor: SimulatedVendor, stream: bool
) -> None:
    vendor.default = lambda _: FULL
    response = gateway.post({"model": "again/m", "prompt": "one", "stream": stream})
    assert error_of(response)[2] == "vendor_overloaded"
    event = gateway.event()
    assert (event.error_code, event.error_message) == ("vendor_overloaded", "The engine is full.")
    assert [(it.vendor, it.http_status, it.error_code) for it in event.attempt_log] == [
        ("again", 503, "vendor_overloaded")
    ] * 3
    starts = [it.started_ms for it in event.attempt_log]
    assert starts == sorted(starts)


def test_a_failure_that_a_retry_mended_is_kept_too(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(FULL)
    assert gateway.post({"model": "again/m", "prompt": "one"}).status_code == 200
    event = gateway.event()
    assert (event.status, event.error_code) == ("completed", None)
    assert [it.http_status for it in event.attempt_log] == [503, 200]


def test_a_good_request_has_no_attempt_log(gateway: Gateway) -> None:
    assert gateway.post({"model": "sim/m", "prompt": "one"}).status_code == 200
    assert gateway.event().attempt_log == ()


def test_a_stream_that_broke_off_says_why(gateway: Gateway, vendor: SimulatedVendor) -> None:
    vendor.reply(stream_reply(body_of(choice("one")), CUT))
    with pytest.raises(Exception, match="ended prematurely"):
        gateway.post({"model": "sim/m", "prompt": "one", "stream": True})
    event = gateway.event()
    assert (event.status, event.error_code) == ("truncated", "vendor_failed")
    assert event.error_message
    assert [it.error_code for it in event.attempt_log] == ["vendor_failed"]


def rejecting(message: str, status: int = 400) -> Reply:
    return json_reply({"error": {"message": message, "code": "content_filter"}}, status)


def told_of(event: UsageEvent) -> str:
    return event.encode().decode()


def test_neither_a_key_nor_a_prompt_gets_into_the_ledger(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    said = f"Key sk-proj-abc123def456 may not ask: {LONG_PROMPT}"
    for status in (400, 401, 500):
        vendor.reply(rejecting(said, status))
        gateway.post({"model": "sim/m", "prompt": LONG_PROMPT})
    for event in gateway.events(3):
        assert "Smith" not in told_of(event)
        assert "sk-proj-abc" not in told_of(event)
        assert event.error_message == "Key *** may not ask: [prompt]"


def test_the_vendors_words_on_our_credentials_are_for_operators_alone(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(rejecting("Your account acme-corp is not active.", 401))
    response = gateway.post({"model": "sim/m", "prompt": "one"})
    assert "acme-corp" not in response.text
    event = gateway.event()
    assert event.error_code == "vendor_authentication"
    assert event.error_message == "Your account acme-corp is not active."


def test_a_caller_who_hangs_up_is_no_error(gateway: Gateway, vendor: SimulatedVendor) -> None:
    vendor.reply(stream_reply(*[body_of(choice("one "))] * 5, 30.0))
    response = gateway.post({"model": "sim/m", "prompt": "one", "stream": True}, stream=True)
    next(response.iter_content(1))
    response.close()
    wait_until(lambda: gateway.events(1))
    event = gateway.event()
    assert (event.status, event.error_code) == ("disconnected", None)
