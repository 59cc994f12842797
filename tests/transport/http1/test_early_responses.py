"""Vendors that answer, or leave, while a long request is still being sent to them."""

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.transport.call import Transport, VendorCall
from app.transport.watchdog import Watchdog
from app.vendors.vendor import Timeouts, Vendor
from app.vocabulary.errors import VendorTimeout, VendorUnreachable
from app.vocabulary.vendor_request import VendorRequest
from tests.support.gateway import free_port
from tests.support.services.polling import wait_until
from tests.support.services.refusing import Manner, RefusingServer

LONG = b'{"prompt": "' + b"x" * 9_000_000 + b'"}'

Serve = Callable[..., RefusingServer]


@pytest.fixture(params=["plain", "tls"])
def serve(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Serve]:
    """Start a server that refuses in some manner, with TLS or without."""
    started: list[RefusingServer] = []

    def start(**kwargs: object) -> RefusingServer:
        tls = tmp_path if request.param == "tls" else None
        started.append(RefusingServer(tls=tls, **kwargs))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for server in started:
        server.stop()


def called(
    server: "RefusingServer | _Address",
    then: Callable[[VendorCall], object],
    body: bytes = LONG,
    **times: float,
) -> object:
    env = {"REQUESTS_CA_BUNDLE": str(server.certificate)} if server.certificate else {}
    transport = Transport(Watchdog(tick_s=0.02), env)
    vendor = Vendor(name="v", gateway="openai", base_url=server.url, timeouts=Timeouts(**times))
    request = VendorRequest(f"{server.url}/completions", {"content-type": "application/json"}, body)
    with transport.call(vendor, request) as call:
        call.send()
        return then(call)


def refusal(call: VendorCall) -> tuple[int, bytes]:
    return call.status, call.error_body()


@pytest.mark.parametrize("manner", ["reset", "close", "stall", "read"])
def test_a_refusal_that_comes_before_the_request_has_gone_is_read(
    serve: Serve, manner: Manner
) -> None:
    server = serve(manner=manner)
    for _ in range(5):
        assert called(server, refusal) == (413, b"too big")


def test_what_the_vendor_refuses_is_not_sent_to_its_end(serve: Serve) -> None:
    server = serve(manner="stall")
    assert called(server, lambda call: call.sent) is False
    assert server.received < len(LONG)


def test_an_interim_answer_does_not_stop_the_request(serve: Serve) -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\n"
    done = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"
    server = serve(answer=interim + done, manner="read")
    assert called(server, lambda call: (call.status, call.sent, b"".join(call.packets()))) == (
        200,
        True,
        b"{}",
    )
    wait_until(lambda: server.received > len(LONG))


def test_a_vendor_that_leaves_before_it_has_the_request_has_done_no_work(serve: Serve) -> None:
    with pytest.raises(VendorUnreachable, match="before it had the request") as caught:
        called(serve(answer=b"", manner="reset"), refusal)
    assert not caught.value.billable


def test_a_vendor_that_stops_reading_meets_its_deadline_and_has_done_no_work(serve: Serve) -> None:
    with pytest.raises(VendorTimeout) as caught:
        called(serve(answer=b"", manner="stall"), refusal, total_s=0.5)
    assert not caught.value.billable


def test_a_short_request_is_answered_too(serve: Serve) -> None:
    assert called(serve(manner="read"), refusal, b"{}") == (413, b"too big")


LIMITED = """
def app(environ, start_response):
    start_response("413 Too Large", [("content-length", "7"), ("connection", "close")])
    return [b"too big"]
"""


def test_a_gunicorn_with_a_limit_is_understood_every_time(tmp_path: Path) -> None:
    (tmp_path / "limited.py").write_text(LIMITED)
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "-b", f"127.0.0.1:{port}", "limited:app"]
    quiet = ["--no-control-socket"]
    with subprocess.Popen(command + quiet, cwd=tmp_path, stderr=subprocess.DEVNULL) as web:
        try:
            server = _Address(f"http://127.0.0.1:{port}/v1")
            wait_until(lambda: _is_up(port))
            for _ in range(5):
                assert called(server, refusal) == (413, b"too big")
        finally:
            web.terminate()


class _Address:
    certificate = None

    def __init__(self, url: str) -> None:
        self.url = url


def _is_up(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
