"""Requests, byte by byte, on the real server: bodies, codings and paths."""

import contextlib
import gzip
import socket
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.wire import BODY, closes, error_of
from tests.fuzz.wire import chunked, connect, exchange, read_answer, request

MIB = 1024 * 1024


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
