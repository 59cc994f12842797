"""A vendor's status is its answer, also when its body cannot be read."""

import gzip
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.settings import Settings
from tests.support.gateway import Gateway, running
from tests.support.services.refusing import RefusingServer
from tests.support.services.tls import TLSProxy
from tests.support.vendor import CUT, Reply, SimulatedVendor, body_of, choice, json_reply, usage_of

PROMPT: dict[str, Any] = {"model": "sim/m", "prompt": "one two"}
AGAIN = {**PROMPT, "model": "again/m"}

#: Bodies of which no error can be read: what the body is, its headers, its framing.
BODIES: dict[str, tuple[list[Any], dict[str, str]]] = {
    "cut": ([b'{"error": {"mess', CUT], {}),
    "cut before the first byte": ([CUT], {}),
    "broken gzip": ([b"\x1f\x8b\x08broken"], {"content-encoding": "gzip"}),
    "half of gzip": ([gzip.compress(b'{"error": {}}')[:9]], {"content-encoding": "gzip"}),
    "an unknown coding": ([b"\x8b\x03\x80{}\x03"], {"content-encoding": "br"}),
    "endless": ([b" ", threading.Event()], {}),
}

#: A vendor's status, the caller's status and the code.
STATUSES = [
    (400, 400, None),
    (401, 502, "vendor_authentication"),
    (404, 404, None),
    (429, 429, "vendor_rate_limited"),
    (500, 502, "vendor_failed"),
    (503, 503, "vendor_overloaded"),
]


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.transport.call.ERROR_BODY_S", 0.3)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize(("status", "ours", "code"), STATUSES)
@pytest.mark.parametrize("stream", [False, True])
def test_an_error_is_its_status_and_books_nothing(
    gateway: Gateway,
    vendor: SimulatedVendor,
    name: str,
    status: int,
    ours: int,
    code: str | None,
    stream: bool,
) -> None:
    body, headers = BODIES[name]
    vendor.reply(Reply(body, status, {**headers, "retry-after": "7"}))
    response = gateway.post({**PROMPT, "stream": stream})
    assert (response.status_code, response.json()["error"]["code"]) == (ours, code)
    waits = status in (429, 500, 503)
    assert response.headers.get("retry-after") == ("7" if waits else None)
    event = gateway.event()
    assert (event.status, event.source, event.http_status) == ("failed", "none", status)
    assert (event.attempts, event.total_tokens) == (1, 0)


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_an_unreadable_error_is_tried_again_like_an_empty_one(
    gateway: Gateway, vendor: SimulatedVendor, name: str, status: int
) -> None:
    body, headers = BODIES[name]
    vendor.reply(Reply(body, status, headers))
    assert gateway.post(AGAIN).status_code == 200
    event = gateway.event()
    assert (event.status, event.source, event.attempts) == ("completed", "vendor", 2)
    assert event.total_tokens == 5


@pytest.mark.parametrize("status", [504, 524])
def test_a_gateway_time_out_is_an_estimate_and_never_repeated(
    gateway: Gateway, vendor: SimulatedVendor, status: int
) -> None:
    headers = {"retry_after": "7", "x_should_retry": "true"}
    vendor.default = lambda _: json_reply({}, status, **headers)
    response = gateway.post(AGAIN)
    assert response.status_code == 504
    assert response.headers["retry-after"] == "7"
    assert response.headers["x-should-retry"] == "false"
    assert len(vendor.asked) == 1
    event = gateway.event()
    assert (event.source, event.attempts, event.http_status) == ("estimated", 1, status)
    assert event.prompt_tokens > 0


def test_a_request_that_never_came_whole_is_tried_again_and_costs_nothing(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.default = lambda _: json_reply({}, 408)
    response = gateway.post(AGAIN)
    assert (response.status_code, len(vendor.asked)) == (504, 3)
    event = gateway.event()
    assert (event.source, event.attempts, event.total_tokens) == ("none", 3, 0)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_vendor_that_says_not_to_try_again_is_asked_once_and_its_word_passed_on(
    gateway: Gateway, vendor: SimulatedVendor, status: int
) -> None:
    vendor.default = lambda _: json_reply({}, status, x_should_retry="false")
    response = gateway.post(AGAIN)
    assert response.headers["x-should-retry"] == "false"
    assert len(vendor.asked) == 1


def test_another_entry_may_still_answer(gateway: Gateway, vendor: SimulatedVendor) -> None:
    vendor.reply(json_reply({}, 503, x_should_retry="false"))
    response = gateway.post({**PROMPT, "model": "standby/m"})
    assert response.status_code == 200
    assert "x-should-retry" not in response.headers


def test_a_vendor_that_asks_for_another_try_gets_it(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(json_reply({}, 409, x_should_retry="true"))
    assert gateway.post(AGAIN).status_code == 200
    assert gateway.event().attempts == 2


def test_what_may_have_been_billed_is_not_repeated_whatever_the_vendor_asks_for(
    gateway: Gateway, vendor: SimulatedVendor
) -> None:
    vendor.reply(Reply([b"{", CUT], headers={"x-should-retry": "true"}))
    assert gateway.post(AGAIN).status_code == 502
    assert len(vendor.asked) == 1


@pytest.mark.parametrize("status", [201, 202, 203])
@pytest.mark.parametrize("stream", [False, True])
def test_another_success_with_a_whole_completion_is_an_answer(
    gateway: Gateway, vendor: SimulatedVendor, status: int, stream: bool
) -> None:
    whole = body_of(choice("Hello", "stop"), usage=usage_of(2, 1))
    vendor.reply(json_reply(whole, status))
    response = gateway.post({**PROMPT, "stream": stream})
    assert response.status_code == 200
    assert "Hello" in response.text
    assert gateway.event().http_status == status


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_an_error_of_the_table_and_costs_nothing(
    gateway: Gateway, vendor: SimulatedVendor, status: int
) -> None:
    vendor.reply(json_reply({}, status, location="https://elsewhere.example/"))
    response = gateway.post(AGAIN)
    assert response.status_code == 502
    assert "base_url" in response.json()["error"]["message"]
    assert len(vendor.asked) == 1
    event = gateway.event()
    assert (event.source, event.http_status) == ("none", status)


def add_vendor(settings: Settings, name: str, url: str) -> None:
    table = Path(str(settings.vendors_file))
    entry = f'\n[vendors.{name}]\ngateway = "openai"\nbase_url = "{url}"\nretries = 2\n'
    table.write_text(table.read_text() + entry)


def test_an_untrusted_certificate_is_tried_once(
    settings: Settings, vendor: SimulatedVendor, tmp_path: Path
) -> None:
    front = TLSProxy(tmp_path, urlsplit(vendor.url).port or 0)
    add_vendor(settings, "strange", f"https://127.0.0.1:{front.port}/v1")
    with running(settings) as gateway:
        response = gateway.post({**PROMPT, "model": "strange/m"})
        assert response.status_code == 502
        assert "certificate is not trusted" in response.json()["error"]["message"]
        assert response.headers["x-should-retry"] == "false"
        event = gateway.event()
    assert (event.attempts, event.source, event.http_status) == (1, "none", None)
    front.stop()


@pytest.mark.parametrize("manner", ["reset", "stall"])
def test_a_prompt_that_is_too_long_for_the_vendor_is_a_413_and_costs_nothing(
    settings: Settings, manner: Any
) -> None:
    server = RefusingServer(manner=manner)
    add_vendor(settings, "small", server.url)
    with running(settings) as gateway:
        response = gateway.post({"model": "small/m", "prompt": "x" * 9_000_000})
        assert response.status_code == 413
        event = gateway.event()
    assert (event.attempts, event.source, event.http_status) == (1, "none", 413)
    assert event.total_tokens == 0
    server.stop()


#: An answer that cannot be read, and what the caller is told of it.
BROKEN = {
    "bad HTTP": (b"content-length: 1\r\ncontent-length: 2\r\n\r\n{}", "not valid HTTP"),
    "a coding": (b"content-encoding: br\r\n\r\n\x8b\x03\x80abc", "content coding `br`"),
    "an early end": (b"content-length: 99\r\n\r\n{", "broke off the connection"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_answer_is_an_estimate_with_its_status_and_is_not_repeated(
    settings: Settings, name: str
) -> None:
    head, words = BROKEN[name]
    server = RefusingServer(b"HTTP/1.1 200 OK\r\n" + head)
    add_vendor(settings, "broken", server.url)
    with running(settings) as gateway:
        response = gateway.post({**PROMPT, "model": "broken/m"})
        assert response.status_code == 502
        assert words in response.json()["error"]["message"]
        event = gateway.event()
    assert (event.attempts, event.source, event.http_status) == (1, "estimated", 200)
    server.stop()
