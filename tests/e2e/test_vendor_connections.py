"""The real web process and vendors that cannot be reached, or that answer too early."""

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from app.settings import Settings
from tests.support.gateway import Gateway, gunicorn, vendor_table, with_account
from tests.support.services.refusing import RefusingServer
from tests.support.services.sqlite import new_ledger
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor, body_of, choice, json_reply

#: Makes the system's look-up of some hosts hang, as a name server that does not answer does.
HANG = """
import _socket
from time import sleep

look_up = _socket.getaddrinfo


def getaddrinfo(host, *args, **kwargs):
    if "hang" in str(host):
        sleep(30)
    return look_up(host, *args, **kwargs)


_socket.getaddrinfo = getaddrinfo
"""

CONNECT_S = 3.0
HOSTS = 20


@dataclass
class Web:
    """A web process, and the vendors that its table names."""

    gateway: Gateway
    vendor: SimulatedVendor
    refusing: dict[str, RefusingServer]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    root = tmp_path_factory.mktemp("web")
    (root / "sitecustomize.py").write_text(HANG)
    valkey, vendor = Valkey(root).start(), SimulatedVendor()
    vendor.default = lambda _: json_reply(body_of(choice("Hello", "stop")))
    refusing = {
        "reset": RefusingServer(manner="reset"),
        "stall": RefusingServer(manner="stall"),
        "tlsreset": RefusingServer(manner="reset", tls=root),
    }
    urls = {name: server.url for name, server in refusing.items()}
    urls |= {f"hang{at}": f"http://hang{at}.invalid/v1" for at in range(HOSTS)}
    urls["named"] = vendor.url.replace("127.0.0.1", "localhost")
    rows = (
        f'[vendors.{name}]\ngateway = "openai"\nbase_url = "{url}"\nretries = 0\n'
        f"timeouts = {{connect_s = {CONNECT_S}}}\n"
        for name, url in urls.items()
    )
    (root / "vendors.toml").write_text(vendor_table(vendor.url) + "".join(rows))
    env = {
        "REDIS_URL": valkey.url,
        "DATABASE_URL": new_ledger(root / "ledger.db"),
        "TOLLGATE_VENDORS": str(root / "vendors.toml"),
        "TOLLGATE_SPOOL_DIR": str(root / "spool"),
        "SSL_CERT_FILE": str(refusing["tlsreset"].certificate),
        "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")]),
        **dict.fromkeys(("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"), ""),
    }
    try:
        with (
            gunicorn(env, root / "web.log") as (url, _),
            with_account(url, Settings.from_env(env)) as gateway,
        ):
            yield Web(gateway, vendor, refusing)
    finally:
        for server in refusing.values():
            server.stop()
        vendor.stop()
        valkey.stop()


@pytest.mark.parametrize("hosts", [1, HOSTS])
def test_look_ups_that_hang_hold_up_no_other_vendor(web: Web, hosts: int) -> None:
    def ask(model: str) -> tuple[int, float]:
        started_s = time.monotonic()
        response = web.gateway.post({"model": model, "prompt": "one two"})
        return response.status_code, time.monotonic() - started_s

    with ThreadPoolExecutor(60) as pool:
        hanging = [pool.submit(ask, f"hang{at % hosts}/m") for at in range(60)]
        time.sleep(0.5)  # all of them wait for an address now
        statuses, times_s = zip(*(ask("named/m") for _ in range(5)), strict=True)
        assert not any(asked.done() for asked in hanging)
        results = [asked.result() for asked in hanging]
    assert set(statuses) == {200}
    assert max(times_s) < CONNECT_S / 2
    assert {status for status, _ in results} == {504}
    assert max(took_s for _, took_s in results) < 2 * CONNECT_S
    web.vendor.hang_up()  # the next one needs an address again


@pytest.mark.parametrize("manner", ["reset", "stall", "tlsreset"])
def test_a_vendor_that_refuses_a_long_prompt_before_it_has_it_is_heard(
    web: Web, manner: str
) -> None:
    for _ in range(5):
        response = web.gateway.post({"model": f"{manner}/m", "prompt": "x" * 9_000_000})
        assert response.status_code == 413
        assert response.headers["x-tollgate-attempts"] == "1"
    events = web.gateway.events()[-5:]
    assert {(event.http_status, event.source, event.total_tokens) for event in events} == {
        (413, "none", 0)
    }
