import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from app.transport.auth.google_credentials import GoogleAuth
from app.transport.auth.request_auth import FAILURE_CACHE_S
from app.transport.auth.schemes import CLOUDS
from app.transport.call import Transport
from app.transport.watchdog import Watchdog
from app.vendors.vendor import Vendor
from app.vocabulary.errors import VendorAuthentication, VendorUnreachable
from app.vocabulary.vendor_request import VendorRequest
from tests.support.services.polling import wait_until
from tests.support.services.tls import TLSProxy
from tests.support.vendor import SimulatedVendor, json_reply
from tests.support.vendors.google_credentials import TokenEndpoint, token

ROW = Vendor(name="vertex_ai", gateway="gemini", base_url="https://v.example", auth="google")
REQUEST = VendorRequest("https://v.example/x", {"content-type": "application/json"}, b"{}")

#: Less than what the library wants a token to last still, so that it asks for another.
ABOUT_TO_EXPIRE_S = 100


class Clock:
    """A clock that a test moves."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenEndpoint]:
    """Google's token endpoint, and the variable that names a key file for it."""
    endpoint = TokenEndpoint()
    key_file = endpoint.write_key(tmp_path / "key.json")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key_file))
    yield endpoint
    endpoint.stop()


def bearer(auth: GoogleAuth) -> str:
    return auth.headers(ROW, REQUEST)["authorization"]


def test_a_token_is_fetched_with_the_service_accounts_signature_and_used_again(
    endpoint: TokenEndpoint,
) -> None:
    auth = GoogleAuth()
    assert [bearer(auth) for _ in range(5)] == ["Bearer sk-test"] * 5
    assert endpoint.asked == 1
    assert auth.headers(ROW, REQUEST)["content-type"] == "application/json"
    assert "authorization" not in REQUEST.headers


def test_the_project_that_pays_is_named_when_the_environment_names_it(
    endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_QUOTA_PROJECT", "payer")
    assert GoogleAuth().headers(ROW, REQUEST)["x-goog-user-project"] == "payer"
    assert endpoint.asked == 1


def test_an_expired_token_is_renewed(endpoint: TokenEndpoint) -> None:
    endpoint.default = lambda number: token(f"t{number}", lifetime_s=0)
    auth = GoogleAuth()
    assert [bearer(auth) for _ in range(3)] == ["Bearer t1", "Bearer t2", "Bearer t3"]


def test_callers_without_a_token_wait_for_one_renewal(endpoint: TokenEndpoint) -> None:
    auth, callers = GoogleAuth(), 8
    endpoint.may_answer.clear()
    with ThreadPoolExecutor(callers) as pool:
        answers = [pool.submit(bearer, auth) for _ in range(callers)]
        wait_until(lambda: endpoint.asked == 1)
        endpoint.may_answer.set()
        assert [answer.result(60) for answer in answers] == ["Bearer sk-test"] * callers
    assert endpoint.asked == 1


def test_while_one_caller_renews_a_token_the_others_use_the_old_one(
    endpoint: TokenEndpoint,
) -> None:
    endpoint.answers.extend([token("old", ABOUT_TO_EXPIRE_S), token("new")])
    auth = GoogleAuth()
    assert bearer(auth) == "Bearer old"
    endpoint.may_answer.clear()
    with ThreadPoolExecutor(1) as pool:
        renewing = pool.submit(bearer, auth)
        wait_until(lambda: endpoint.asked == 2)
        assert [bearer(auth) for _ in range(4)] == ["Bearer old"] * 4
        endpoint.may_answer.set()
        assert renewing.result(60) == "Bearer new"
    assert bearer(auth) == "Bearer new"
    assert endpoint.asked == 2


def test_a_token_that_cannot_be_renewed_is_used_while_it_lasts(
    endpoint: TokenEndpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.answers.extend([token("old", ABOUT_TO_EXPIRE_S), (400, {"error": "invalid_grant"})])
    clock = Clock()
    auth = GoogleAuth(clock)
    assert [bearer(auth) for _ in range(3)] == ["Bearer old"] * 3
    assert endpoint.asked == 2
    assert "could not be renewed" in caplog.text
    clock.now_s = FAILURE_CACHE_S
    assert bearer(auth) == "Bearer sk-test"


def test_a_refusal_stands_for_a_while_and_then_google_is_asked_again(
    endpoint: TokenEndpoint,
) -> None:
    refusal = {"error": "invalid_grant", "error_description": "Invalid grant: account not found"}
    endpoint.answers.append((400, refusal))
    clock = Clock()
    auth = GoogleAuth(clock)
    for _ in range(3):
        with pytest.raises(VendorAuthentication, match="issued no access token") as caught:
            bearer(auth)
        assert not caught.value.billable
        assert "account not found" not in str(caught.value)
    assert endpoint.asked == 1
    clock.now_s = FAILURE_CACHE_S
    assert bearer(auth) == "Bearer sk-test"


def test_a_key_file_that_was_replaced_is_found_without_a_restart(
    endpoint: TokenEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    revoked = TokenEndpoint()
    revoked.answers.append(token("first", lifetime_s=0))
    revoked.default = lambda _: (400, {"error": "invalid_grant"})
    path = revoked.write_key(tmp_path / "revoked.json")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    clock = Clock()
    auth = GoogleAuth(clock)
    assert bearer(auth) == "Bearer first"
    with pytest.raises(VendorAuthentication):
        bearer(auth)
    revoked.stop()
    endpoint.write_key(path)
    clock.now_s = FAILURE_CACHE_S
    assert bearer(auth) == "Bearer sk-test"


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"<html>Sign in to this network</html>"),
        (200, {"access_token": "t", "expires_in": "soon"}),
        (503, b"busy"),
    ],
)
def test_an_endpoint_that_makes_no_sense_is_a_failure_that_may_pass(
    endpoint: TokenEndpoint, answer: tuple[int, Any]
) -> None:
    endpoint.default = lambda _: answer
    with pytest.raises(VendorUnreachable) as caught:
        bearer(GoogleAuth())
    assert not caught.value.billable


def test_an_endpoint_that_is_down_is_a_failure_that_may_pass(endpoint: TokenEndpoint) -> None:
    endpoint.stop()
    with pytest.raises(VendorUnreachable, match="does not respond"):
        bearer(GoogleAuth())


@pytest.mark.parametrize("content", [None, b"", b"{}", b'{"type": "service_account"}'])
def test_a_key_file_that_is_missing_or_wrong_is_said_with_the_variables_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    path = tmp_path / "key.json"
    if content is not None:
        path.write_bytes(content)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    with pytest.raises(VendorAuthentication, match="GOOGLE_APPLICATION_CREDENTIALS") as caught:
        bearer(GoogleAuth())
    assert caught.value.headers == {"x-should-retry": "false"}
    assert str(path) not in str(caught.value)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.auth.transport.requests", None)
    with pytest.raises(VendorAuthentication, match=r"pip install -e '\.\[google\]'"):
        bearer(GoogleAuth())


@pytest.fixture
def signers(monkeypatch: pytest.MonkeyPatch) -> None:
    """No token of another test's."""
    monkeypatch.setitem(CLOUDS, "google", GoogleAuth())


@pytest.mark.usefixtures("signers")
def test_a_call_is_signed_right_before_it_is_sent(
    endpoint: TokenEndpoint, vendor: SimulatedVendor
) -> None:
    vendor.reply(json_reply({}))
    row = Vendor(name="v", gateway="gemini", base_url=vendor.url, auth="google")
    request = VendorRequest(f"{vendor.url}/x", {}, b"{}")
    with Transport(Watchdog(tick_s=0.02), {}).call(row, request) as call:
        assert endpoint.asked == 0
        call.send()
        assert b"".join(call.packets()) == b"{}"
    assert vendor.asked[0].headers["authorization"] == "Bearer sk-test"


@pytest.mark.usefixtures("signers")
def test_a_call_that_cannot_be_signed_is_never_made(
    endpoint: TokenEndpoint, vendor: SimulatedVendor
) -> None:
    endpoint.default = lambda _: (400, {"error": "invalid_grant"})
    row = Vendor(name="v", gateway="gemini", base_url=vendor.url, auth="google")
    request = VendorRequest(f"{vendor.url}/x", {}, b"{}")
    with Transport(Watchdog(tick_s=0.02), {}).call(row, request) as call:
        with pytest.raises(VendorAuthentication) as caught:
            call.send()
        assert not call.sent
    assert not caught.value.billable
    assert vendor.connections == 0


def test_the_lock_is_free_after_every_failure(endpoint: TokenEndpoint) -> None:
    endpoint.answers.extend([(400, {"error": "invalid_grant"}), token("t", ABOUT_TO_EXPIRE_S)])
    endpoint.default = lambda _: (400, {"error": "invalid_grant"})
    clock = Clock()
    auth = GoogleAuth(clock)
    with pytest.raises(VendorAuthentication):
        bearer(auth)
    clock.now_s += FAILURE_CACHE_S
    assert bearer(auth) == "Bearer t"
    assert bearer(auth) == "Bearer t"  # its renewal failed, in this thread
    other = threading.Thread(target=bearer, args=(auth,))
    other.start()
    other.join(60)
    assert not other.is_alive()


def test_the_token_endpoint_is_trusted_as_vendors_are(
    endpoint: TokenEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(endpoint.url.split(":")[2].split("/")[0])
    front = TLSProxy(tmp_path, port)
    endpoint.url = f"https://127.0.0.1:{front.port}/token"
    endpoint.write_key(tmp_path / "key.json")
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(VendorAuthentication, match="its TLS certificate is not trusted"):
        bearer(GoogleAuth())
    monkeypatch.setenv("SSL_CERT_FILE", str(front.certificate))
    assert bearer(GoogleAuth()) == "Bearer sk-test"
    front.stop()
