"""The bytes of a request."""

import pytest

from app.transport.http1.request import request_bytes


def test_a_request_is_one_piece() -> None:
    told = request_bytes("POST", "/v1/x?y=z", {"host": "h", "a": "caf\xe9"}, b"{}")
    assert told == b"POST /v1/x?y=z HTTP/1.1\r\nhost: h\r\na: caf\xe9\r\n\r\n{}"


@pytest.mark.parametrize("text", ["a\r\nb: c", "a\nb: c", "a\r", "a\n"])
def test_a_header_cannot_begin_another(text: str) -> None:
    for headers in ({"x": text}, {text: "x"}):
        with pytest.raises(ValueError, match="line break"):
            request_bytes("POST", "/", headers, b"")
