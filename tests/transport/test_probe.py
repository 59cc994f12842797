"""Probing a vendor: its status, or why there is none."""

import socket
import threading

import pytest

from app.transport import probe as module
from app.transport.probe import probe
from app.vendors.vendor import Timeouts, Vendor
from tests.support.services.listener import Listener
from tests.support.vendor import Reply, SimulatedVendor, json_reply


def vendor_at(url: str, **keys: object) -> Vendor:
    fields = {"timeouts": Timeouts(connect_s=1.0), **keys}
    return Vendor(name="v", gateway="openai", base_url=url, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("status", [200, 307, 401, 503])
def test_the_list_of_models_is_requested_with_the_key_and_its_status_returned(
    vendor: SimulatedVendor, status: int
) -> None:
    vendor.reply(json_reply({}, status, location="/elsewhere"))
    found = probe(vendor_at(vendor.url, api_key="k", headers={"x-org": "o"}), {})
    assert found == (status, "")
    (asked,) = vendor.asked
    assert (asked.path, asked.raw) == ("/v1/models", b"")
    assert (asked.headers["authorization"], asked.headers["x-org"]) == ("Bearer k", "o")


def test_a_body_that_does_not_end_is_not_waited_for(vendor: SimulatedVendor) -> None:
    vendor.reply(Reply([threading.Event()]))
    assert probe(vendor_at(vendor.url), {}) == (200, "")


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1:1/v1", "it refused the connection"),
        ("http://" + "x" * 64 + ".example/v1", "its host name is unknown"),
    ],
)
def test_a_vendor_that_cannot_be_reached_has_no_status(url: str, reason: str) -> None:
    assert probe(vendor_at(url), {}) == (None, reason)


def test_a_vendor_that_breaks_off_or_stays_silent_has_no_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def leave(connection: socket.socket) -> None:
        with connection:
            connection.recv(65536)

    leaving = Listener(leave)
    found = probe(vendor_at(f"http://127.0.0.1:{leaving.port}/v1"), {})
    assert found == (None, "it broke off the connection")
    leaving.stop()
    monkeypatch.setattr(module, "PROBE_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        status, reason = probe(vendor_at(f"http://127.0.0.1:{silent.getsockname()[1]}/v1"), {})
    assert status is None
    assert reason.startswith("it did not respond in")
