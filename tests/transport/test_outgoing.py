"""Requests to vendors: their headers, and the notice of their exchange."""

from typing import cast

import pytest

from app.transport.http1.exchange import Exchange
from app.transport.outgoing import OutgoingRequest

EXCHANGE = cast(Exchange, object())
URL = "https://v.example/v1"


def test_a_request_says_its_length_and_asks_for_a_plain_body() -> None:
    request = OutgoingRequest("POST", URL, {"X-Key": "k"}, b"{}")
    assert (request.method, request.url, request.body) == ("POST", URL, b"{}")
    assert dict(request.headers) == {
        "accept-encoding": "identity",
        "user-agent": "tollgate",
        "x-key": "k",
        "content-length": "2",
    }


@pytest.mark.parametrize("name", ["user-agent", "User-Agent"])
def test_a_vendors_headers_override_the_usual_ones(name: str) -> None:
    request = OutgoingRequest("POST", URL, {name: "mine", "Content-Length": "99"}, b"{}")
    assert request.headers["User-Agent"] == "mine"
    assert request.headers["content-length"] == "2"


def test_an_exchange_is_noted_once() -> None:
    begun: list[Exchange] = []
    request = OutgoingRequest("POST", URL, {}, b"", begun.append)
    assert [request.begin(EXCHANGE), request.begin(EXCHANGE)] == [True, False]
    assert begun == [EXCHANGE]
    assert not OutgoingRequest("GET", URL, {}, b"").begin(EXCHANGE)
