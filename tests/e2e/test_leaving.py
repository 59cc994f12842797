"""A web process that is told to leave: what finishes, what is cut, and that all is recorded."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from app.settings import Settings
from app.usage.messages.event import UsageEvent
from tests.support.gateway import Gateway, gunicorn, sse_events, text_of, with_account
from tests.support.services.polling import wait_until
from tests.support.vendor import (
    DONE,
    SimulatedVendor,
    body_of,
    choice,
    json_reply,
    stream_reply,
    usage_of,
)

ASK: dict[str, Any] = {"model": "sim/m", "prompt": "one two"}
STREAM = {**ASK, "stream": True}


class Web:
    """A real web process, its gateway and its vendor."""

    def __init__(
        self, gateway: Gateway, pid: int, log: Path, closing: contextlib.ExitStack
    ) -> None:
        self.gateway = gateway
        self.pid = pid
        self._log = log
        self._closing = closing
        self.address = gateway.base_url.removeprefix("http://").removesuffix("/v5")

    def leave(self, by: signal.Signals = signal.SIGTERM) -> None:
        """Tell it to leave, and wait until it takes no more connections."""
        os.kill(self.pid, by)
        host, _, port = self.address.partition(":")

        def refuses() -> bool:
            try:
                socket.create_connection((host, int(port)), timeout=5).close()
            except OSError:
                return True
            return False

        wait_until(refuses)

    def has_left(self) -> None:
        """Wait until it has left, in order."""
        wait_until(self._has_left)
        log = self._log.read_text()
        assert "Shutting down: Master" in log
        assert "Traceback" not in log
        assert "SIGKILL" not in log

    def _has_left(self) -> bool:
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(self.pid)], capture_output=True, text=True, check=False
        )
        return not state.stdout.strip() or state.stdout.startswith("Z")

    def open(self, body: Any) -> http.client.HTTPResponse:
        """Post; return the response, of which nothing is read."""
        connection = self.connection()
        headers = {"x-api-key": self.gateway.api_key}
        connection.request("POST", "/v5/completions", json.dumps(body), headers)
        response = connection.getresponse()
        self._closing.callback(response.close)
        return response

    def connection(self) -> http.client.HTTPConnection:
        """Return a connection, closed when the test is over."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        self._closing.callback(connection.close)
        return connection


@pytest.fixture
def start(settings: Settings, tmp_path: Path) -> Iterator[Callable[[int], Web]]:
    """Starts a web process with a grace time in seconds."""
    with contextlib.ExitStack() as stack:

        def start(grace_s: int) -> Web:
            env = {
                "REDIS_URL": settings.redis_url,
                "DATABASE_URL": settings.database_url,
                "TOLLGATE_VENDORS": str(settings.vendors_file),
                "TOLLGATE_SPOOL_DIR": str(settings.spool_dir),
                "TOLLGATE_GRACE_S": str(grace_s),
                "SIM_API_KEY": "sk-simulated-secret",
            }
            log = tmp_path / "web.log"
            url, pid = stack.enter_context(gunicorn(env, log))
            return Web(stack.enter_context(with_account(url, settings)), pid, log, stack)

        yield start


def partial_events(response: http.client.HTTPResponse) -> list[tuple[str | None, Any]]:
    """Return the events of an answer that must have been cut."""
    with pytest.raises(http.client.IncompleteRead) as caught:
        response.read()
    whole: Any = type("Content", (), {"content": caught.value.partial})
    return sse_events(whole)


def test_a_process_leaves_at_once_when_nothing_is_open_but_idle_connections(
    start: Callable[[int], Web],
) -> None:
    web = start(3600)  # so that waiting it out would be a failure of this test
    used, unused = web.connection(), web.connection()
    used.request("GET", "/livez")
    used.getresponse().read()
    unused.connect()
    web.leave()
    web.has_left()
    assert [connection.sock.recv(1) for connection in (used, unused)] == [b"", b""]


def test_what_is_under_way_is_finished_and_kept_connections_are_closed_with_an_answer(
    start: Callable[[int], Web], vendor: SimulatedVendor
) -> None:
    web, gate = start(3600), threading.Event()
    usage = body_of(usage=usage_of(2, 2))
    vendor.reply(
        stream_reply(body_of(choice("first ")), gate, body_of(choice("last", "stop")), usage, DONE)
    )
    response = web.open(STREAM)
    kept = web.connection()

    def closes() -> bool:
        kept.request("GET", "/livez")
        answer = kept.getresponse()
        assert answer.status == 200
        answer.read()
        return answer.headers.get("connection") == "close"

    assert not closes()
    os.kill(web.pid, signal.SIGTERM)
    wait_until(closes)
    web.leave()
    gate.set()
    whole: Any = type("Content", (), {"content": response.read()})
    events = sse_events(whole)
    assert text_of(events) == "first last"
    assert events[-1] == ("done", "[DONE]")
    web.has_left()
    recorded = web.gateway.event()
    assert (recorded.status, recorded.source, recorded.total_tokens) == ("completed", "vendor", 4)


def test_when_the_grace_time_is_over_the_rest_is_told_cut_and_recorded(
    start: Callable[[int], Web], vendor: SimulatedVendor
) -> None:
    web, never = start(0), threading.Event()

    def by_prompt(asked: Any) -> Any:
        if asked.body["prompt"] == "a stream":
            return stream_reply(body_of(choice("three little words")), never)
        if asked.body["prompt"] == "not begun":
            return stream_reply(never)
        if asked.body["prompt"] == "not read":
            return stream_reply(*[body_of(choice("x" * 50_000))] * 1000, never)
        reply = json_reply(body_of(choice("late", "stop")))
        return type(reply)([never, *reply.body], framing="close")

    vendor.default = by_prompt
    stream = web.open({**STREAM, "prompt": "a stream"})
    web.open({**STREAM, "prompt": "not read"})
    with ThreadPoolExecutor(2) as pool:
        whole = pool.submit(web.gateway.post, {**ASK, "prompt": "a whole answer"})
        silent = pool.submit(web.gateway.post, {**STREAM, "prompt": "not begun"})
        wait_until(lambda: len(vendor.asked) == 4)
        web.leave()
        web.has_left()
        for refused in (whole.result(), silent.result()):
            assert refused.status_code == 503
            assert refused.json()["error"]["code"] == "shutting_down"
    *chunks, (kind, body) = partial_events(stream)
    assert text_of(chunks) == "three little words"
    assert (kind, body["error"]["code"]) == ("error", "shutting_down")
    recorded = sorted(web.gateway.events(4), key=lambda event: (event.status, event.prompt_tokens))
    statuses = [event.status for event in recorded]
    assert statuses == ["disconnected", "failed", "failed", "truncated"]
    assert all(event.source == "estimated" for event in recorded)
    assert [event.prompt_tokens for event in recorded] == [2, 2, 3, 2]
    assert recorded[-1].completion_tokens == 3
    assert recorded[0].completion_tokens > 0


def test_an_interrupt_cuts_without_delay_and_records(
    start: Callable[[int], Web], vendor: SimulatedVendor
) -> None:
    web = start(3600)
    vendor.reply(stream_reply(body_of(choice("three little words")), threading.Event()))
    stream = web.open(STREAM)
    web.leave(signal.SIGINT)
    web.has_left()
    kind, body = partial_events(stream)[-1]
    assert (kind, body["error"]["code"]) == ("error", "shutting_down")
    recorded: UsageEvent = web.gateway.event()
    assert (recorded.status, recorded.source) == ("truncated", "estimated")


def test_what_a_caller_left_behind_is_read_no_further_when_the_process_leaves(
    start: Callable[[int], Web], vendor: SimulatedVendor
) -> None:
    web = start(0)
    vendor.reply(stream_reply(*[body_of(choice("word "))] * 500, threading.Event()))
    web.open({**STREAM, "model": "drain/m"}).close()
    web.leave()
    web.has_left()
    assert web.gateway.event().status in ("disconnected", "truncated")


def test_a_broken_request_is_answered_in_our_shape_and_its_header_is_not_logged(
    start: Callable[[int], Web], tmp_path: Path
) -> None:
    web = start(0)
    host, _, port = web.address.partition(":")
    for broken in (
        b"GET / HTTP/1.1\r\nx-api-key\x01: tg_distinctive\r\n\r\n",
        b"tg_distinctive\r\n\r\n",
        b"GET /?key=tg_distinctive" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n",
    ):
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(broken)
            response = http.client.HTTPResponse(connection)
            response.begin()
            assert response.status in (400, 414)
            assert json.load(response)["error"]["code"] == "invalid_http"
    log = (tmp_path / "web.log").read_text()
    assert "A request was not valid HTTP" in log
    assert "tg_distinctive" not in log
