"""The session of vendor calls: what it does not follow, keep or read, and how a URL is reached."""

from pathlib import Path

import pytest
import requests

from app.transport.adapter import LlhttpAdapter, StockAdapter
from app.transport.outgoing import OutgoingRequest
from app.transport.session import VendorSession
from app.transport.trust import FILES, TrustUnreadable
from tests.support.vendor import Reply, SimulatedVendor, json_reply


def test_redirects_are_not_followed(session: VendorSession, vendor: SimulatedVendor) -> None:
    elsewhere = {"location": f"{vendor.url}/elsewhere"}
    vendor.reply(Reply([b"moved"], 307, elsewhere))
    response = session.post(vendor.url, data=b"{}", timeout=5)
    assert (response.status_code, response.content) == (307, b"moved")
    assert len(vendor.asked) == 1


def test_cookies_are_not_kept(session: VendorSession, vendor: SimulatedVendor) -> None:
    vendor.reply(json_reply({}, set_cookie="a=b; Path=/"), json_reply({}))
    for _ in range(2):
        session.get(vendor.url, timeout=5)
    assert not session.cookies
    assert "cookie" not in vendor.asked[1].headers


def test_netrc_adds_no_credentials(
    session: VendorSession,
    vendor: SimulatedVendor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    vendor.reply(json_reply({}))
    to = session.destination(vendor.url)
    request = OutgoingRequest("POST", to.url, {}, b"{}")
    session.send(request, timeout=5, **to.arguments).close()
    assert "authorization" not in vendor.asked[0].headers


def test_a_session_has_the_adapter_of_that_name() -> None:
    for name, kind in (("tollgate", LlhttpAdapter), ("requests", StockAdapter)):
        with VendorSession({}, name) as session:  # type: ignore[arg-type]
            assert type(session.adapter) is kind
            for url in ("http://v.example", "https://v.example"):
                assert session.get_adapter(url) is session.adapter


def test_a_url_is_prepared_once() -> None:
    with VendorSession({}) as session:
        to = session.destination("HTTPS://V.example/v1/a b?c=\u00e9")
        assert to.url == "https://v.example/v1/a%20b?c=%C3%A9"
        assert session.destination("HTTPS://V.example/v1/a b?c=\u00e9") is to


@pytest.mark.parametrize("url", ["v.example/v1", "https://", "https://exa mple/v1"])
def test_what_is_not_a_url_is_an_error_of_requests(url: str) -> None:
    with VendorSession({}) as session, pytest.raises(requests.RequestException):
        session.destination(url)


def test_only_https_needs_the_trusted_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in FILES:
        monkeypatch.delenv(name, raising=False)
    bundle = tmp_path / "ca.pem"
    env = {"SSL_CERT_FILE": str(bundle)}
    with VendorSession(env) as session:
        assert session.destination("http://v.example").arguments["verify"] is True
        with pytest.raises(TrustUnreadable):
            session.destination("https://v.example")
        bundle.touch()
        assert session.destination("https://v.example").arguments["verify"] == str(bundle)


def test_a_proxy_is_used_for_its_scheme_except_where_the_environment_excepts_a_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "near.example")
    with VendorSession({}) as session:
        urls = ("https://v.example", "https://near.example", "http://v.example")
        assert [session.destination(url).is_proxied for url in urls] == [True, False, False]
