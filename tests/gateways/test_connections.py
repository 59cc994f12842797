"""How a vendor is reached: TLS, trust, proxies, and connections that went stale."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from app.errors import VendorUnreachable
from app.gateways.base import Timeouts, Vendor, VendorRequest
from app.gateways.transport import Transport
from app.gateways.watchdog import Watchdog
from tests.services.proxy import Proxy
from tests.services.tls import TLSProxy
from tests.vendor import Reply, SimulatedVendor

PROXY_VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXY_VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def tls(tmp_path: Path, vendor: SimulatedVendor) -> Iterator[TLSProxy]:
    front = TLSProxy(tmp_path, urlsplit(vendor.url).port or 0)
    yield front
    front.stop()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    server = Proxy()
    yield server
    server.stop()


def transport(**env: str) -> Transport:
    return Transport(Watchdog(tick_s=0.02), env)


def ask(transport: Transport, url: str) -> bytes:
    row = Vendor(name="v", gateway="openai", base_url=url, timeouts=Timeouts())
    request = VendorRequest(f"{url}/completions?a=b", {"Authorization": "Bearer key"}, b"{}")
    with transport.call(row, request) as call:
        call.send()
        return call.body()


def test_a_vendor_behind_tls_is_reached_when_it_is_trusted(
    vendor: SimulatedVendor, tls: TLSProxy
) -> None:
    over_tls = transport(REQUESTS_CA_BUNDLE=str(tls.certificate))
    for _ in range(2):
        vendor.reply(Reply([b"ok"]))
        assert ask(over_tls, f"https://127.0.0.1:{tls.port}/v1") == b"ok"
    assert [asked.connection for asked in vendor.asked] == [1, 1]
    assert vendor.asked[0].headers["host"] == f"127.0.0.1:{tls.port}"
    assert vendor.asked[0].headers["authorization"] == "Bearer key"


def test_a_vendor_that_nobody_vouches_for_is_sent_nothing(
    vendor: SimulatedVendor, tls: TLSProxy
) -> None:
    with pytest.raises(VendorUnreachable) as caught:
        ask(transport(), f"https://127.0.0.1:{tls.port}/v1")
    assert not caught.value.billable
    assert vendor.asked == []


def test_a_proxy_passes_a_request_on(
    vendor: SimulatedVendor, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{proxy.port}")
    vendor.reply(Reply([b"ok"]))
    assert ask(transport(), vendor.url) == b"ok"
    (asked,) = proxy.asked
    assert asked.startswith(f"POST {vendor.url}/completions?a=b HTTP/1.1")
    assert "proxy-authorization: basic bwu6c2vjcmv0" in asked.lower()


def test_a_proxy_passes_a_tls_connection_on_and_sees_nothing_of_it(
    vendor: SimulatedVendor, tls: TLSProxy, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
    over_tls = transport(REQUESTS_CA_BUNDLE=str(tls.certificate))
    for _ in range(2):
        vendor.reply(Reply([b"ok"]))
        assert ask(over_tls, f"https://127.0.0.1:{tls.port}/v1") == b"ok"
    (asked,) = proxy.asked
    assert asked.startswith(f"CONNECT 127.0.0.1:{tls.port} HTTP/1.")
    assert "key" not in asked


def test_a_proxy_is_not_used_where_the_environment_excepts_a_host(
    vendor: SimulatedVendor, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    vendor.reply(Reply([b"ok"]))
    assert ask(transport(), vendor.url) == b"ok"
    assert proxy.asked == []


def test_a_proxy_that_is_away_is_a_vendor_that_cannot_be_reached(
    vendor: SimulatedVendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with pytest.raises(VendorUnreachable):
        ask(transport(), vendor.url)


def test_a_connection_that_its_vendor_has_closed_is_not_used_again(
    vendor: SimulatedVendor,
) -> None:
    ours = transport()
    for _ in range(3):
        vendor.reply(Reply([b"ok"]))
        assert ask(ours, vendor.url) == b"ok"
        vendor.hang_up()
    assert [asked.connection for asked in vendor.asked] == [1, 2, 3]
