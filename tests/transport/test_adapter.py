"""A session with our adapter behaves as one with requests' own."""

import gzip
import threading

import pytest
import requests

from app.transport.http1.errors import BrokenResponse
from app.transport.session import VendorSession
from tests.support.vendor import CUT, Reply, SimulatedVendor, json_reply


def test_requests_prepares_and_sends_a_request(
    session: VendorSession, vendor: SimulatedVendor
) -> None:
    vendor.reply(json_reply({"ok": True}, 201, X_Two="a"))
    response = session.post(f"{vendor.url}/x", params={"a": "b c"}, json={"n": 1}, timeout=5)
    assert (response.status_code, response.json()) == (201, {"ok": True})
    assert response.headers["X-TWO"] == "a"
    assert "x-two" in response.headers
    assert vendor.asked[0].path == "/v1/x?a=b+c"
    assert vendor.asked[0].body == {"n": 1}


def test_a_compressed_body_is_decoded(session: VendorSession, vendor: SimulatedVendor) -> None:
    headers = {"content-encoding": "gzip", "content-type": "text/plain; charset=utf-8"}
    vendor.reply(Reply([gzip.compress(b"plain text")], headers=headers))
    assert session.get(vendor.url, timeout=5).content == b"plain text"


def test_a_body_is_iterated_as_it_arrives(session: VendorSession, vendor: SimulatedVendor) -> None:
    more = threading.Event()
    vendor.reply(Reply([b"first", more, b"second"]))
    with session.get(vendor.url, stream=True, timeout=5) as response:
        pieces = response.iter_content(None)
        assert next(pieces) == b"first"
        more.set()
        assert b"".join(pieces) == b"second"


def test_connections_are_used_again(session: VendorSession, vendor: SimulatedVendor) -> None:
    for _ in range(3):
        vendor.reply(json_reply({}))
        session.get(vendor.url, timeout=5).close()
    assert [asked.connection for asked in vendor.asked] == [1, 1, 1]


def test_silence_is_an_error_of_requests(session: VendorSession, vendor: SimulatedVendor) -> None:
    vendor.reply(Reply([b"so", threading.Event()]))
    with pytest.raises(requests.RequestException):
        session.get(vendor.url, timeout=(5, 0.2))
    vendor.reply(json_reply({}))
    assert session.get(vendor.url, timeout=(5, 5)).json() == {}


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/", "http://no-such-host.invalid/", "https://127.0.0.1:1/"]
)
def test_a_server_that_cannot_be_reached_is_a_connection_error(
    session: VendorSession, url: str
) -> None:
    with pytest.raises(requests.ConnectionError):
        session.get(url, timeout=1)


def test_a_connection_that_breaks_is_an_error_of_requests(
    session: VendorSession, vendor: SimulatedVendor
) -> None:
    vendor.reply(Reply([b"half", CUT]))
    with pytest.raises(requests.RequestException):
        session.get(vendor.url, timeout=5)


def test_a_broken_response_of_ours_is_an_error_of_requests() -> None:
    assert issubclass(BrokenResponse, requests.ConnectionError)
