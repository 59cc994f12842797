"""Whatever bytes arrive, the real server answers with a client's error, and goes on."""

import json
import random
import socket

import pytest

from tests.e2e.deployment import Candidate

GOOD = json.dumps({"model": "sim/m", "prompt": "x"}).encode()


def said(deployment: Candidate, request: bytes) -> tuple[int, bytes]:
    """Send bytes; return the status of the answer, and its body."""
    address = deployment.gateway.base_url.removeprefix("http://").removesuffix("/v5").split(":")
    with socket.create_connection((address[0], int(address[1])), timeout=30) as sock:
        sock.sendall(request)
        with sock.makefile("rb") as answer:
            status = int(answer.readline().split()[1])
            length = 0
            while (line := answer.readline().lower().strip()) != b"":
                if line.startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            return status, answer.read(length)


def head(deployment: Candidate, *headers: bytes) -> bytes:
    key = b"x-api-key: " + deployment.gateway.api_key.encode()
    return b"\r\n".join([b"POST /v5/completions HTTP/1.1", b"host: x", key, *headers, b"", b""])


def test_a_body_of_any_bytes_is_no_fault_of_ours(deployment: Candidate) -> None:
    dice = random.Random(3)  # noqa: S311 - repeatable
    statuses = set()
    for _ in range(300):
        body = bytearray(GOOD)
        for _ in range(dice.randrange(1, 6)):
            at = dice.randrange(len(body))
            body[at : at + dice.randrange(2)] = dice.randbytes(dice.randrange(3))
        length = b"content-length: %d" % len(body)
        status, _ = said(deployment, head(deployment, length) + bytes(body))
        statuses.add(status)
    assert statuses <= {200, 400, 404}
    assert 400 in statuses


@pytest.mark.parametrize(
    "body", [b"zz\r\nabc\r\n0\r\n\r\n", b"5\r\nabc\r\n0\r\n\r\n", b"-1\r\n\r\n", b"3;x\r\nabcd\r\n"]
)
def test_a_broken_chunked_encoding_is_the_callers_fault(deployment: Candidate, body: bytes) -> None:
    status, answer = said(deployment, head(deployment, b"transfer-encoding: chunked") + body)
    assert status == 400
    assert json.loads(answer)["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"\0\1garbage\r\n\r\n", 400),
        (b"GET /%ff%fe HTTP/1.1\r\nhost: x\r\n\r\n", 404),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", 414),
        (b"GET /v5/models HTTP/1.1\r\nhost: x\r\nx-api-key: \xff\xfe\r\n\r\n", 401),
        (b"GET /v5/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer \xff\r\n\r\n", 401),
        (b"BREW /v5/completions HTTP/1.1\r\nhost: x\r\n\r\n", 405),
    ],
)
def test_a_request_of_any_bytes_gets_an_error_in_openais_form(
    deployment: Candidate, request_: bytes, status: int
) -> None:
    found, answer = said(deployment, request_)
    assert found == status
    names = {"message", "type", "param", "code", "request_id", "doc_url"}
    assert set(json.loads(answer)["error"]) == names
