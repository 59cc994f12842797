"""What callers do with a connection, byte by byte, on the real server."""

import contextlib
import gzip
import json
import resource
import socket
import subprocess
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.deployment import Candidate
from tests.fuzz.wire import Said, chunked, connect, exchange, read_answer, request
from tests.support.services.polling import wait_until
from tests.support.vendor import CUT, DONE, body_of, choice, json_reply, stream_reply, usage_of

MIB = 1024 * 1024
BODY = json.dumps({"model": "sim/m", "prompt": "one two"}).encode()
STREAM = json.dumps({"model": "sim/m", "prompt": "one two", "stream": True}).encode()


@pytest.fixture
def address(deployment: Candidate) -> tuple[str, int]:
    """Where it listens."""
    host, _, port = (
        deployment.gateway.base_url.removeprefix("http://").removesuffix("/v5").partition(":")
    )
    return host, int(port)


@pytest.fixture
def key(deployment: Candidate) -> str:
    """A header with a good key."""
    return f"x-api-key: {deployment.gateway.api_key}"


def error_of(said: Said) -> dict[str, Any]:
    """Return an answer's error."""
    error: dict[str, Any] = json.loads(said.body)["error"]
    return error


def closes(said: Said) -> bool:
    """Whether the answer says that the connection is closed after it."""
    return b"\r\nconnection: close" in said.head.lower()


def until_reset(sock: socket.socket) -> bytes:
    """Return what can still be read, and require that it ends in a reset."""
    data = b""
    try:
        while more := sock.recv(65536):
            data += more
    except ConnectionResetError:
        return data
    raise AssertionError("the connection ended in order")


EARLY = {
    "a bad key": ("/v5/completions", "POST", ["x-api-key: wrong"], 401),
    "no such path": ("/nowhere", "POST", [], 404),
    "a body where none is read": ("/livez", "GET", [], 200),
}


@pytest.mark.parametrize("framing", ["content-length: 100000000000", "transfer-encoding: chunked"])
@pytest.mark.parametrize("case", EARLY)
def test_what_is_sent_after_an_early_answer_is_thrown_away_up_to_a_bound(
    address: tuple[str, int], case: str, framing: str
) -> None:
    path, method, headers, status = EARLY[case]
    piece = b"x" * MIB if "length" in framing else b"100000\r\n" + b"x" * MIB + b"\r\n"
    with connect(address) as sock:
        sock.sendall(request(path, *headers, framing, method=method))
        said = read_answer(sock)
        assert (said.status, said.ended) == (status, "whole")
        assert closes(said)
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 200 * MIB:
                sock.sendall(piece)
                sent += MIB
        assert 16 * MIB < sent < 64 * MIB


def test_a_polite_caller_gets_its_answer_however_much_it_sends_first(
    address: tuple[str, int], key: str
) -> None:
    bad = request("/v5/completions", "x-api-key: wrong", body=b"x" * 20 * MIB)
    large = request("/v5/completions", key, "connection: close", body=b"x" * 20 * MIB)
    with ThreadPoolExecutor(20) as pool:
        said = list(pool.map(lambda raw: exchange(address, [raw]), [bad, large] * 10))
    assert {(one.status, one.ended) for one in said} == {(401, "whole"), (413, "whole")}
    assert all(closes(one) for one in said)


def test_a_short_body_that_nobody_reads_does_not_cost_the_connection(
    address: tuple[str, int], key: str
) -> None:
    with connect(address) as sock:
        for _ in range(2):
            sock.sendall(request("/v5/completions", "x-api-key: wrong", body=BODY))
            said = read_answer(sock)
            assert (said.status, closes(said)) == (401, False)
        sock.sendall(request("/v5/completions", key, body=BODY))
        assert read_answer(sock).status == 200


def test_a_caller_that_asks_first_gets_the_final_status_first(
    address: tuple[str, int], key: str
) -> None:
    refused = {
        401: ["x-api-key: wrong", "content-length: 5"],
        413: [key, f"content-length: {20 * MIB}"],
        415: [key, "content-encoding: br", "content-length: 5"],
    }
    for status, headers in refused.items():
        with connect(address) as sock:
            sock.sendall(request("/v5/completions", *headers, "expect: 100-continue"))
            said = read_answer(sock)
            assert (said.status, closes(said)) == (status, True)
    with connect(address) as sock:
        sock.sendall(
            request("/v5/completions", key, f"content-length: {len(BODY)}", "Expect: 100-Continue")
        )
        assert sock.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(BODY)
        assert read_answer(sock).status == 200


def raw_deflate(body: bytes) -> bytes:
    """Return a body deflated without zlib's frame."""
    deflater = zlib.compressobj(wbits=-15)
    return deflater.compress(body) + deflater.flush()


CODED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "gzip by its old name": ("X-GZip", gzip.compress),
    "members": ("gzip", lambda body: gzip.compress(body[:9]) + gzip.compress(body[9:])),
    "padded": ("gzip", lambda body: gzip.compress(body) + b"\0" * 20),
    "zlib": ("deflate", zlib.compress),
    "raw": ("deflate", raw_deflate),
    "stacked": ("deflate, gzip", lambda body: gzip.compress(zlib.compress(body))),
    "none": ("identity", bytes),
}


@pytest.mark.parametrize("name", CODED)
def test_a_coded_body_is_read(address: tuple[str, int], key: str, name: str) -> None:
    coding, code = CODED[name]
    coded = code(BODY)
    header = f"content-encoding: {coding}"
    assert exchange(address, [request("/v5/completions", key, header, body=coded)]).status == 200
    head = request("/v5/completions", key, header, "transfer-encoding: chunked")
    assert exchange(address, [head, chunked(coded, 3)]).status == 200


BROKEN = {
    "cut short": ("gzip", gzip.compress(BODY)[:-5]),
    "another thing": ("gzip", BODY),
    "rubbish behind": ("gzip", gzip.compress(BODY) + b"more"),
    "a wrong checksum": ("gzip", gzip.compress(BODY)[:-8] + b"\0" * 8),
    "deflate cut short": ("deflate", zlib.compress(BODY)[:-3]),
    "rubbish behind deflate": ("deflate", zlib.compress(BODY) + b"x"),
    "one byte": ("deflate", b"x"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_body_that_is_not_what_its_coding_says_is_told_so(
    address: tuple[str, int], key: str, name: str
) -> None:
    coding, body = BROKEN[name]
    said = exchange(
        address, [request("/v5/completions", key, f"content-encoding: {coding}", body=body)]
    )
    assert said.status == 400
    assert error_of(said)["code"] == "invalid_content_encoding"


def test_a_coding_that_is_not_read_is_named_with_those_that_are(
    address: tuple[str, int], key: str
) -> None:
    for coding in ("br", "gzip, compress", "zstd", ", ".join(["gzip"] * 5)):
        raw = request("/v5/completions", key, f"content-encoding: {coding}", body=BODY)
        said = exchange(address, [raw])
        assert (said.status, error_of(said)["code"]) == (415, "unsupported_content_encoding")
        assert b"accept-encoding: gzip, deflate" in said.head


def test_a_body_is_too_large_in_any_coding_and_framing(address: tuple[str, int], key: str) -> None:
    blanks = BODY + b" " * 11 * MIB
    cases = [
        request("/v5/completions", key, body=blanks),
        request("/v5/completions", key, "transfer-encoding: chunked") + chunked(blanks, MIB),
        request("/v5/completions", key, "content-encoding: gzip", body=gzip.compress(blanks)),
        request("/v5/completions", key, "content-encoding: deflate", body=zlib.compress(blanks)),
        request(
            "/v5/completions",
            key,
            "content-encoding: gzip, gzip",
            body=gzip.compress(gzip.compress(b" " * 300 * MIB)),
        ),
    ]
    for raw in cases:
        said = exchange(address, [raw])
        assert (said.status, error_of(said)["code"]) == (413, "request_too_large")


def test_a_body_shorter_than_announced_is_no_request(address: tuple[str, int], key: str) -> None:
    """What has come may read as JSON, and still not be all that was to come."""
    with connect(address) as sock:
        sock.sendall(request("/v5/completions", key, f"content-length: {len(BODY) + 9}") + BODY)
        sock.shutdown(socket.SHUT_WR)
        said = read_answer(sock)
    assert (said.status, error_of(said)["code"]) == (400, "invalid_json")


PATHS = ["/v5/completions", "/v5/models", "/v5/organization/usage/completions", "/livez", "/docs"]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_is_redirected(address: tuple[str, int], path: str) -> None:
    for asked in (f"/{path}", f"{path}/", f"{path}//", path.replace("/", "//"), f"/.{path}"):
        said = exchange(address, [request(asked, "x-forwarded-host: evil.example", method="GET")])
        assert said.status in (200, 401, 404, 405)
        assert b"\r\nlocation:" not in said.head.lower()


def test_a_doubled_slash_of_a_base_url_is_served(address: tuple[str, int], key: str) -> None:
    for path in ("//v5/completions", "/v5//completions", "/v5/completions/"):
        assert exchange(address, [request(path, key, body=BODY)]).status == 200


def test_the_dashboard_redirects_to_paths_alone(address: tuple[str, int]) -> None:
    for path in ("/dashboard", "/dashboard/", "//dashboard", "/dashboard/requests"):
        said = exchange(address, [request(path, "x-forwarded-proto: https", method="GET")])
        assert said.status in (303, 404)
        for line in said.head.split(b"\r\n"):
            if line.lower().startswith(b"location:"):
                assert line.partition(b": ")[2].startswith(b"/dashboard")


@pytest.mark.parametrize("header", ["script_name: /x", "SCRIPT-NAME: /x", "remote_user: root"])
def test_no_header_moves_a_path(address: tuple[str, int], header: str) -> None:
    assert exchange(address, [request("/x/metrics", header, method="GET")]).status == 404
    assert exchange(address, [request("/livez", header, method="GET")]).status == 200


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
    wait_until(lambda: len(deployment.vendor.hang_ups) > hung_up, deadline_s=10)


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
