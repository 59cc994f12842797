"""Connections that end early, wait for nothing, or are too many, on the real server."""

import contextlib
import resource
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.deployment import Candidate
from tests.e2e.wire import BODY, STREAM, closes, error_of, until_reset
from tests.fuzz.wire import connect, exchange, read_answer, request
from tests.support.services.polling import wait_until
from tests.support.vendor import CUT, DONE, body_of, choice, json_reply, stream_reply, usage_of


def test_a_stream_that_is_cut_ends_in_a_reset_where_nothing_else_can_tell(
    deployment: Candidate, address: tuple[str, int], key: str
) -> None:
    deployment.vendor.reply(stream_reply(body_of(choice("half ")), CUT))
    with connect(address) as sock:
        sock.sendall(request("/v5/completions", key, body=STREAM, version="1.0"))
        data = until_reset(sock)
    assert data.startswith(b"HTTP/1.0 200")
    assert b'"text":"half "' in data
    assert b"event: error" in data


def test_curl_fails_on_a_cut_stream_and_not_on_a_whole_one(deployment: Candidate, key: str) -> None:
    usage = body_of(usage=usage_of(2, 2))
    whole = stream_reply(body_of(choice("whole", "stop")), usage, DONE)
    for version in ("--http1.0", "--http1.1"):
        for reply, fails in ((stream_reply(body_of(choice("half ")), CUT), True), (whole, False)):
            deployment.vendor.reply(reply)
            url = f"{deployment.gateway.base_url}/completions"
            command = ["curl", "-sN", version, "-H", key, "-d", STREAM.decode(), url]
            ended = subprocess.run(command, capture_output=True, check=False, timeout=60)
            assert bool(ended.returncode) is fails, (version, ended)


def test_a_whole_stream_to_http_1_0_ends_in_order(
    deployment: Candidate, address: tuple[str, int], key: str
) -> None:
    usage = body_of(usage=usage_of(2, 2))
    deployment.vendor.reply(stream_reply(body_of(choice("whole", "stop")), usage, DONE))
    with connect(address) as sock:
        sock.sendall(request("/v5/completions", key, body=STREAM, version="1.0"))
        said = read_answer(sock)
    assert said.ended == "closed"
    assert said.body.endswith(b"data: [DONE]\n\n")


def test_a_caller_that_ends_its_sending_and_waits_gets_its_stream(
    deployment: Candidate, address: tuple[str, int], key: str
) -> None:
    """Also when it has ended it before anything was answered."""
    hung_up, usage = len(deployment.vendor.hang_ups), body_of(usage=usage_of(2, 2))
    deployment.vendor.reply(
        stream_reply(
            1.0, body_of(choice("first ")), 1.0, body_of(choice("last", "stop")), usage, DONE
        )
    )
    with connect(address) as sock:
        sock.sendall(request("/v5/completions", key, "connection: close", body=STREAM))
        sock.shutdown(socket.SHUT_WR)
        said = read_answer(sock)
    assert said.body.endswith(b"0\r\n\r\n")
    assert b'"text":"last"' in said.body
    assert len(deployment.vendor.hang_ups) == hung_up


def test_a_caller_that_ends_its_sending_gets_a_whole_answer(
    deployment: Candidate, address: tuple[str, int], key: str
) -> None:
    reply = json_reply(body_of(choice("late", "stop"), usage=usage_of(2, 2)))
    deployment.vendor.reply(type(reply)([0.5, *reply.body], framing="chunked"))
    with connect(address) as sock:
        sock.sendall(request("/v5/completions", key, body=BODY))
        sock.shutdown(socket.SHUT_WR)
        said = read_answer(sock)
    assert (said.status, said.ended) == (200, "whole")


@pytest.mark.parametrize("begun", [True, False])
def test_a_caller_that_closes_its_connection_ends_the_vendors_call(
    deployment: Candidate, address: tuple[str, int], key: str, begun: bool
) -> None:
    """Though the vendor is silent, and has said something or not."""
    hung_up, never = len(deployment.vendor.hang_ups), threading.Event()
    steps: list[Any] = [body_of(choice("first "))] if begun else []
    deployment.vendor.reply(stream_reply(*steps, never))
    asked = len(deployment.vendor.asked)
    with connect(address) as sock:
        sock.sendall(request("/v5/completions", key, body=STREAM))
        if begun:
            sock.recv(1000)
        wait_until(lambda: len(deployment.vendor.asked) > asked)
    wait_until(lambda: len(deployment.vendor.hang_ups) > hung_up)


def crowd() -> int:
    """Return more connections than a web process serves, and have as many descriptors."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return 4200 if hard == resource.RLIM_INFINITY else min(4200, hard // 3 + 200)


@contextlib.contextmanager
def waiting(address: tuple[str, int], count: int, first: bytes) -> Iterator[None]:
    """Keep connections open on which nothing more happens."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            sock = stack.enter_context(connect(address))
            if first:
                sock.sendall(first)
        yield


LIVE = request("/livez", method="GET")


@pytest.mark.parametrize("first", [b"", LIVE[:-4], LIVE], ids=["silent", "half", "idle"])
def test_callers_that_say_nothing_shut_nobody_out(address: tuple[str, int], first: bytes) -> None:
    with waiting(address, crowd(), first):
        for _ in range(20):
            assert exchange(address, [request("/livez", method="GET")]).status == 200


def test_callers_that_do_not_read_shut_nobody_out_for_long(address: tuple[str, int]) -> None:
    """Each asks for more than the system keeps for it, and takes none of it."""
    first = request("/openapi.json", method="GET") * 15
    with waiting(address, crowd(), first), connect(address) as sock:
        started_s = time.monotonic()
        sock.sendall(LIVE)
        assert read_answer(sock).status == 200
        assert time.monotonic() - started_s < 40  # 10 s, and slack


def test_half_a_head_has_a_deadline_and_is_told_so(address: tuple[str, int]) -> None:
    with connect(address) as sock:
        started_s = time.monotonic()
        sock.sendall(b"GET /livez HTTP/1.1\r\nhost:")
        said = read_answer(sock)
    assert (said.status, error_of(said)["code"]) == (408, "request_timeout")
    assert 10 < time.monotonic() - started_s < 40


FORM = "content-type: application/x-www-form-urlencoded"


def test_a_body_that_does_not_come_has_a_deadline(
    address: tuple[str, int], key: str, deployment: Candidate
) -> None:
    started_s = time.monotonic()
    with connect(address) as sock, connect(address) as form:
        sock.sendall(request("/v5/completions", key, "content-length: 100"))
        form.sendall(request("/dashboard/sign-in", FORM, "content-length: 100"))
        said, shown = read_answer(sock), read_answer(form)
    assert (said.status, error_of(said)["code"]) == (408, "request_timeout")
    assert closes(said)
    assert (shown.status, closes(shown)) == (408, True)
    assert 20 < time.monotonic() - started_s < 60
    assert "Traceback" not in Path(deployment.root / "web.log").read_text()


def test_a_form_that_is_cut_short_is_the_callers_fault(address: tuple[str, int]) -> None:
    with connect(address) as sock:
        sock.sendall(request("/dashboard/sign-in", FORM, "transfer-encoding: chunked") + b"5\r\nap")
        sock.shutdown(socket.SHUT_WR)
        assert read_answer(sock).status == 400
