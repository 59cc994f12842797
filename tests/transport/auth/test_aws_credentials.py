import dataclasses
import json
import socket
import sys
import threading
from pathlib import Path

import pytest

from app.gateways.bedrock.converse import ConverseGateway
from app.gateways.bridge import Bridge
from app.transport.auth.aws_credentials import AWSAuth
from app.transport.auth.request_auth import FAILURE_CACHE_S
from app.transport.call import Transport
from app.transport.watchdog import Watchdog
from app.vocabulary.errors import VendorAuthentication, VendorUnreachable
from tests.gateways.bedrock.rows import request, row
from tests.support.services.listener import Listener
from tests.support.services.tls import TLSProxy
from tests.support.vendor import Asked, Reply, SimulatedVendor, json_reply
from tests.support.vendors.base import Said
from tests.support.vendors.bedrock import (
    ACCESS_KEY,
    SECRET_KEY,
    SESSION_TOKEN,
    BedrockWire,
    signature_is_good,
)

MODELS = [
    "anthropic.claude-sonnet-4-5-20250929-v1:0",
    "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3",
]


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of this machine's own is found."""
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN", "PROFILE"):
        monkeypatch.delenv(f"AWS_{name}", raising=False)
    monkeypatch.delenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", raising=False)
    monkeypatch.delenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_SESSION_TOKEN", SESSION_TOKEN)


def arrived(model: str, auth: AWSAuth, *, prompt: str = "caf\u00e9") -> Asked:
    """Return a signed request as it would arrive."""
    encoded = Bridge(ConverseGateway()).encode(row(), request(model, prompt=prompt))
    signed = auth.headers(row(), encoded)
    host = "bedrock-runtime.us-east-1.amazonaws.com"
    headers = {"host": host} | {name.lower(): text for name, text in signed.items()}
    path = encoded.url.removeprefix(f"https://{host}")
    return Asked(path, headers, json.loads(encoded.body), 1, encoded.body)


@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize("model", MODELS)
def test_a_signature_is_accepted_for_every_kind_of_model_id(model: str) -> None:
    asked = arrived(model, AWSAuth())
    assert asked.headers["x-amz-security-token"] == SESSION_TOKEN
    assert signature_is_good(asked)
    assert BedrockWire(model).check(asked) is None


@pytest.mark.usefixtures("variables")
@pytest.mark.parametrize("model", MODELS)
def test_what_is_signed_is_what_arrives(
    monkeypatch: pytest.MonkeyPatch, vendor: SimulatedVendor, model: str
) -> None:
    monkeypatch.setattr("app.transport.auth.schemes.CLOUDS", {"aws": AWSAuth()})
    wire = BedrockWire(model)
    vendor.default = lambda asked: wire.check(asked) or wire.answer(asked, Said())
    there = dataclasses.replace(row(), base_url=vendor.url.removesuffix("/v1"))
    encoded = Bridge(ConverseGateway()).encode(there, request(model, prompt="caf\u00e9"))
    with Transport(Watchdog(), {}).call(there, encoded) as call:
        call.send()
        assert (call.status, b"".join(call.packets())[:1]) == (200, b"{")
    assert vendor.asked[0].headers["authorization"].startswith("AWS4-HMAC-SHA256 ")


@pytest.mark.usefixtures("variables")
def test_a_signature_is_good_for_one_request_alone() -> None:
    asked = arrived(MODELS[0], AWSAuth())
    other = arrived(MODELS[0], AWSAuth(), prompt="tea")
    assert not signature_is_good(Asked(asked.path, asked.headers, other.body, 1, other.raw))
    assert not signature_is_good(Asked(other.path + "x", asked.headers, asked.body, 1, asked.raw))


def test_a_profile_signs_too(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(
        f"[default]\naws_access_key_id={ACCESS_KEY}\naws_secret_access_key={SECRET_KEY}\n"
    )
    asked = arrived(MODELS[0], AWSAuth())
    assert "x-amz-security-token" not in asked.headers
    assert signature_is_good(asked)


@pytest.mark.usefixtures("variables")
def test_a_bedrock_key_is_sent_instead_of_a_signature() -> None:
    vendor = row(AWS_BEARER_TOKEN_BEDROCK="sk-test")
    encoded = Bridge(ConverseGateway()).encode(vendor, request(MODELS[0]))
    signed = AWSAuth().headers(vendor, encoded)
    assert signed == {**encoded.headers, "authorization": "Bearer sk-test"}


def test_no_credentials_name_the_settings_and_are_looked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    auth = AWSAuth(clock=lambda: now[0])
    for _ in range(2):
        with pytest.raises(VendorAuthentication, match="AWS_ACCESS_KEY_ID") as caught:
            arrived(MODELS[0], auth)
    assert caught.value.vendor_status is None
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    with pytest.raises(VendorAuthentication):  # the failure stands for a while
        arrived(MODELS[0], auth)
    now[0] = FAILURE_CACHE_S
    assert signature_is_good(arrived(MODELS[0], auth))


def test_half_a_set_of_credentials_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    with pytest.raises(VendorAuthentication, match="AWS"):
        arrived(MODELS[0], AWSAuth())


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "botocore"]:
        monkeypatch.delitem(sys.modules, name)
    nothing = [part for part in sys.path if "site-packages" not in part]
    monkeypatch.setattr(sys, "path", nothing)
    sys.path_importer_cache.clear()
    encoded = Bridge(ConverseGateway()).encode(row(), request(MODELS[0]))
    with pytest.raises(VendorAuthentication, match=r"pip install -e '\.\[aws\]'"):
        AWSAuth().headers(row(AWS_BEARER_TOKEN_BEDROCK="sk-test"), encoded)


def expiring(vendor: SimulatedVendor, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a container's endpoint give credentials."""
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{vendor.url}/credentials")


def container_reply(expires: str) -> Reply:
    return json_reply(
        {
            "AccessKeyId": ACCESS_KEY,
            "SecretAccessKey": SECRET_KEY,
            "Token": SESSION_TOKEN,
            "Expiration": expires,
        }
    )


def test_a_containers_credentials_are_fetched_once_for_all_threads(
    monkeypatch: pytest.MonkeyPatch, vendor: SimulatedVendor
) -> None:
    expiring(vendor, monkeypatch)
    vendor.default = lambda _: container_reply("2999-01-01T00:00:00Z")
    auth, good = AWSAuth(), list[bool]()

    def sign() -> None:
        good.append(signature_is_good(arrived(MODELS[0], auth)))

    threads = [threading.Thread(target=sign) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert good == [True] * 8
    assert [asked.path for asked in vendor.asked] == ["/v1/credentials"]


def test_an_endpoint_that_gives_no_credentials_may_give_them_later(
    monkeypatch: pytest.MonkeyPatch, vendor: SimulatedVendor
) -> None:
    expiring(vendor, monkeypatch)
    vendor.default = lambda _: json_reply({}, 404)
    with pytest.raises(VendorUnreachable, match="AWS did not issue"):
        arrived(MODELS[0], AWSAuth())


#: What AWS' token service answers when a web identity takes a role on.
ROLE = f"""<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>
<AccessKeyId>{ACCESS_KEY}</AccessKeyId><SecretAccessKey>{SECRET_KEY}</SecretAccessKey>
<SessionToken>{SESSION_TOKEN}</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration>
</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"""


@pytest.mark.parametrize("setting", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE"])
def test_the_token_service_is_trusted_as_vendors_are(
    setting: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give(connection: socket.socket) -> None:
        with connection:
            connection.recv(65536)
            head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(ROLE)}\r\nconnection: close\r\n\r\n"
            connection.sendall((head + ROLE).encode())

    service = Listener(give)
    front = TLSProxy(tmp_path, service.port)
    (tmp_path / "identity").write_text("a.b.c")
    for name in (
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "AWS_CA_BUNDLE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "identity"))
    monkeypatch.setenv("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/r")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"https://127.0.0.1:{front.port}")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    asked = Bridge(ConverseGateway()).encode(row(base_url="https://b.example"), request(MODELS[0]))
    with pytest.raises(VendorAuthentication, match="its TLS certificate is not trusted"):
        AWSAuth().headers(row(base_url="https://b.example"), asked)
    monkeypatch.setenv(setting, str(front.certificate))
    signed = AWSAuth().headers(row(base_url="https://b.example"), asked)
    assert ACCESS_KEY in signed["Authorization"]
    front.stop()
    service.stop()
