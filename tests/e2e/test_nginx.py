"""Real clients through a real nginx: its defaults, and the configuration of our documentation."""

import gzip
import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openai
import pytest
import requests
import scale_gp_beta
from openai import OpenAI
from scale_gp_beta import SGPClient

from app.settings import CONFIG_DIR, ROOT, Settings
from app.vendors.vendor import Timeouts
from tests.support.gateway import Gateway, gunicorn, vendor_table, with_account
from tests.support.services import node
from tests.support.services.nginx import Nginx, find_nginx
from tests.support.services.polling import wait_until
from tests.support.services.sqlite import new_ledger
from tests.support.services.valkey import Valkey
from tests.support.vendor import CUT, DONE, SimulatedVendor, body_of, choice, stream_reply, usage_of

ASK: dict[str, Any] = {"model": "sim/m", "prompt": "one two", "max_tokens": 5}
TEXT = "word0 word1 word2 word3 word4 "
USAGE = body_of(usage=usage_of(2, 3))


@dataclass
class Site:
    """A web process behind an nginx, and how to get there."""

    gateway: Gateway
    vendor: SimulatedVendor
    nginx: Nginx
    web_pid: int
    #: What clients are to trust.
    env: dict[str, str]

    @property
    def base_url(self) -> str:
        return f"{self.nginx.base_url}/v5"

    def python(self, kind: Any, **options: Any) -> Any:
        """Return an official client."""
        base_url = self.nginx.base_url if kind is SGPClient else self.base_url
        more = {"account_id": "acme"} if kind is SGPClient else {}
        fixed = {"base_url": base_url, "max_retries": 0, "timeout": 60, **more}
        return kind(**{"api_key": self.gateway.api_key, **fixed, **options})

    def post(self, body: bytes, **headers: str) -> requests.Response:
        """Post bytes as they are."""
        named = {"x-api-key": self.gateway.api_key, "content-type": "application/json"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        return requests.post(
            f"{self.base_url}/completions", data=body, headers=named, timeout=60, verify=self.trust
        )

    def curl(self, body: dict[str, Any]) -> "subprocess.CompletedProcess[str]":
        """Ask as the README does."""
        command = ["curl", "-sS", "-N", f"{self.base_url}/completions", "-d", json.dumps(body)]
        command += ["-H", f"x-api-key: {self.gateway.api_key}"]
        command += ["-H", "content-type: application/json"]
        if isinstance(self.trust, str):
            command += ["--cacert", self.trust]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    @property
    def trust(self) -> str | bool:
        """What `requests` is to trust."""
        return self.env.get("SSL_CERT_FILE", True)


@pytest.fixture(scope="module")
def web(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Gateway, SimulatedVendor, int]]:
    """A web process, which sends comments soon."""
    root = tmp_path_factory.mktemp("web")
    valkey, vendor = Valkey(root).start(), SimulatedVendor()
    (root / "vendors.toml").write_text(vendor_table(vendor.url))
    env = {
        "REDIS_URL": valkey.url,
        "DATABASE_URL": new_ledger(root / "ledger.db"),
        "TOLLGATE_VENDORS": str(root / "vendors.toml"),
        "TOLLGATE_SPOOL_DIR": str(root / "spool"),
        "TOLLGATE_FIRST_KEEP_ALIVE_S": "0.5",
        "TOLLGATE_KEEP_ALIVE_S": "0.2",
        "SIM_API_KEY": "sk-simulated-secret",
    }
    with (
        gunicorn(env, root / "web.log") as (url, pid),
        with_account(url, Settings.from_env(env)) as gateway,
    ):
        yield gateway, vendor, pid
    vendor.stop()
    valkey.stop()


def site_of(
    web: tuple[Gateway, SimulatedVendor, int],
    folder: Path,
    *,
    ours: bool,
    changes: Sequence[tuple[str, str]] = (),
) -> Iterator[Site]:
    program = find_nginx()
    if program is None:
        assert "CI" not in os.environ, "CI asks through nginx: install it"
        pytest.skip("no nginx here")
    gateway, vendor, pid = web
    target = int(gateway.base_url.removesuffix("/v5").rpartition(":")[2])
    nginx = Nginx(program, folder, target, ours=ours, changes=changes).start()
    trusted = str(nginx.certificate)
    env = {"SSL_CERT_FILE": trusted, "NODE_EXTRA_CA_CERTS": trusted} if ours else {}
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            yield Site(gateway, vendor, nginx, pid, env)
    finally:
        nginx.stop()


@pytest.fixture(scope="module", params=["its defaults", "ours"])
def site(
    request: pytest.FixtureRequest,
    web: tuple[Gateway, SimulatedVendor, int],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Site]:
    """The web process behind an nginx of either kind."""
    yield from site_of(web, tmp_path_factory.mktemp("nginx"), ours=request.param == "ours")


@pytest.fixture(scope="module")
def our_site(
    web: tuple[Gateway, SimulatedVendor, int], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """The same, as our documentation has it."""
    yield from site_of(web, tmp_path_factory.mktemp("nginx"), ours=True)


CLIENTS = [OpenAI, SGPClient]


def cut_in_the_middle(vendor: SimulatedVendor) -> None:
    vendor.reply(stream_reply(body_of(choice("half an answer")), CUT))


@pytest.mark.parametrize("kind", CLIENTS)
def test_python_clients_get_whole_answers_streams_and_the_models(site: Site, kind: Any) -> None:
    with site.python(kind) as client:
        assert client.completions.create(**ASK).choices[0].text == TEXT
        stream = client.completions.create(**ASK, stream=True)
        assert "".join(chunk.choices[0].text for chunk in stream) == TEXT
        assert "sim/*" in {model.id for model in client.models.list()}


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_stream_that_was_cut_raises_in_python(site: Site, kind: Any) -> None:
    cut_in_the_middle(site.vendor)
    seen: list[str] = []
    with site.python(kind) as client, pytest.raises(Exception, match=r"broke off|closed|peer|read"):  # noqa: PT012
        for chunk in client.completions.create(**ASK, stream=True):
            seen += [it.text for it in chunk.choices]
    assert seen == ["half an answer"]


def test_curl_takes_no_half_for_a_whole(site: Site) -> None:
    whole = site.curl({**ASK, "stream": True})
    assert (whole.returncode, whole.stderr) == (0, "")
    assert whole.stdout.endswith("event: done\ndata: [DONE]\n\n")
    cut_in_the_middle(site.vendor)
    cut = site.curl({**ASK, "stream": True})
    assert "half an answer" in cut.stdout
    assert "event: error" in cut.stdout
    assert cut.returncode != 0


def test_nodes_client_gets_answers_and_errors(site: Site) -> None:
    def ask(body: dict[str, Any], key: str = "") -> Any:
        return node.ask(site.base_url, key or site.gateway.api_key, body, site.env)

    assert ask(ASK)["texts"] == [TEXT]
    assert "".join(ask({**ASK, "stream": True})["texts"]) == TEXT
    assert "sim/*" in ask({})["models"]
    refused = ask(ASK, "tg_wrong")
    assert (refused["error"], refused["status"]) == ("AuthenticationError", 401)
    cut_in_the_middle(site.vendor)
    cut = ask({**ASK, "stream": True})
    assert cut["texts"] == ["half an answer"]
    assert cut["error"] is not None
    assert "broke off" in cut["message"]


def test_each_piece_of_a_stream_goes_on_at_once(site: Site) -> None:
    """Comments, too, while the vendor is silent."""
    go_on = threading.Event()
    first, last = body_of(choice("first")), body_of(choice("last", "stop"))
    site.vendor.reply(stream_reply(go_on, first, USAGE, DONE))
    with streamed(site) as answer:
        assert next_line(answer) == b": keep-alive"
        go_on.set()
        assert b"first" in next_line(answer)
    more = threading.Event()
    site.vendor.reply(stream_reply(first, more, last, USAGE, DONE))
    with streamed(site) as answer:
        assert b"first" in next_line(answer)
        more.set()
        assert b"last" in answer.read()


def test_a_caller_that_has_gone_is_noticed_behind_it(site: Site) -> None:
    events = site.gateway.redis.xlen("usage:events")
    site.vendor.reply(stream_reply(body_of(choice("first")), threading.Event()))
    with streamed(site) as answer:
        assert b"first" in next_line(answer)
    assert site.gateway.events(events + 1)[-1].status == "disconnected"


def streamed(site: Site) -> Any:
    """Ask for a stream; return the response, to read from as it comes."""
    port = site.nginx.port
    connection: http.client.HTTPConnection
    if isinstance(site.trust, str):
        context = ssl.create_default_context(cafile=site.trust)
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"x-api-key": site.gateway.api_key, "content-type": "application/json"}
    connection.request("POST", "/v5/completions", json.dumps({**ASK, "stream": True}), headers)
    response = connection.getresponse()
    assert response.status == 200

    class Closing:
        def __enter__(self) -> http.client.HTTPResponse:
            return response

        def __exit__(self, *_: object) -> None:
            response.close()
            connection.close()

    return Closing()


def next_line(answer: http.client.HTTPResponse) -> bytes:
    """Return the next line that is not empty."""
    while not (line := answer.readline().strip()):
        pass
    return line


def test_a_bad_key_with_a_large_body_is_told_so(site: Site) -> None:
    """nginx's own limit is 1 MiB, where ours lets Tollgate speak."""
    body = b'{"model": "sim/m", "prompt": "' + b"x" * 20 * 1024 * 1024 + b'"}'
    for _ in range(3):
        answer = site.post(body, x_api_key="tg_wrong")
        assert answer.status_code == (401 if "SSL_CERT_FILE" in site.env else 413)
    if "SSL_CERT_FILE" in site.env:
        answer = site.post(body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")
    assert site.post(json.dumps(ASK).encode()).status_code == 200


def test_a_limit_is_told_with_when_to_come_back(our_site: Site) -> None:
    key = our_site.gateway.add_account("limited")
    our_site.gateway.accounts.set_limits("account", "limited", requests_per_minute=1)
    with our_site.python(OpenAI, api_key=key) as client:
        client.completions.create(**ASK)
        with pytest.raises(openai.RateLimitError) as caught:
            client.completions.create(**ASK)
    assert 0 < int(caught.value.response.headers["retry-after"]) <= 60
    with (
        our_site.python(SGPClient, api_key=key, account_id="limited") as other,
        pytest.raises(scale_gp_beta.RateLimitError),
    ):
        other.completions.create(**ASK)


def test_a_compressed_request_is_read(our_site: Site) -> None:
    body = gzip.compress(json.dumps(ASK).encode())
    answer = our_site.post(body, content_encoding="gzip")
    assert answer.json()["choices"][0]["text"] == TEXT


@pytest.mark.parametrize("name", ["SCRIPT_NAME", "Script-Name", "PATH_INFO"])
def test_no_caller_says_where_the_application_is(our_site: Site, name: str) -> None:
    answer = our_site.post(json.dumps(ASK).encode(), **{name: "/v5"})
    assert answer.status_code == 200


def test_the_dashboard_is_signed_in_to_with_a_cookie_of_https(our_site: Site) -> None:
    key = our_site.gateway.add_account("reader", "usage")
    answer = requests.post(
        f"{our_site.nginx.base_url}/dashboard/sign-in",
        data={"api_key": key},
        headers={"origin": our_site.nginx.base_url},
        verify=our_site.trust,
        timeout=60,
        allow_redirects=False,
    )
    assert answer.status_code == 303
    assert answer.headers["set-cookie"].startswith("__Host-tollgate=")
    assert "; Secure" in answer.headers["set-cookie"]


def status_of(site: Site, path: str) -> int:
    """Get a path as it is spelled; return the status."""
    raw = requests.Request("GET", site.nginx.base_url).prepare()
    raw.url = site.nginx.base_url + path
    with requests.Session() as session:
        sent = session.send(raw, verify=site.trust, timeout=60, allow_redirects=False)
        return sent.status_code


def test_the_dashboard_can_be_limited_to_a_network(
    web: tuple[Gateway, SimulatedVendor, int], tmp_path: Path
) -> None:
    limits = [("# allow 10.0.0.0/8;", "allow 10.0.0.0/8;"), ("# deny all;", "deny all;")]
    for site in site_of(web, tmp_path, ours=True, changes=limits):
        for path in ("/dashboard", "/dashboard/sign-in", "//dashboard", "/%64ashboard"):
            assert status_of(site, path) == 403
        assert status_of(site, "/livez") == 200


def test_the_page_says_what_the_file_does() -> None:
    """The page lists what any proxy needs; nginx.conf is the example of it."""
    page = (ROOT / "docs" / "deploying.md").read_text().partition("## Reverse proxies")[2]
    page = page.partition("\n## ")[0]
    conf = (ROOT / "docs" / "nginx.conf").read_text()
    assert "proxy_next_upstream off" in page
    assert "proxy_next_upstream off;" in conf
    body = re.search(r"client_max_body_size (\d+)m;", conf)
    read = re.search(r"proxy_read_timeout (\d+)s;", conf)
    idle = re.search(r"keepalive_timeout (\d+)s;", conf)
    assert body is not None
    assert read is not None
    assert idle is not None
    assert int(body[1]) * 2**20 > Settings.from_env({"REDIS_URL": "redis://h"}).body_limit_bytes
    longest = Timeouts().total_s
    assert f"`total_s`, {longest:.0f} s" in page
    assert int(read[1]) > longest
    keepalive = re.search(
        r"^keepalive = (\d+)$", (CONFIG_DIR / "gunicorn.conf.py").read_text(), re.M
    )
    assert keepalive is not None
    assert int(idle[1]) < int(keepalive[1])


def test_what_there_is_to_measure_is_not_for_the_public(our_site: Site) -> None:
    url = our_site.nginx.base_url
    for path in ("/metrics", "//metrics", "/./metrics", "/%6detrics"):
        assert status_of(our_site, path) == 403
    answer = requests.get(f"{url}/livez", verify=our_site.trust, timeout=60)
    assert answer.json() == {"status": "ok"}


def test_a_request_whose_web_process_dies_is_not_sent_again(our_site: Site) -> None:
    """It may have been paid for."""
    asked, go_on = len(our_site.vendor.asked), threading.Event()
    our_site.vendor.reply(stream_reply(go_on, DONE))
    answers: list[int] = []
    asking = threading.Thread(
        target=lambda: answers.append(our_site.post(json.dumps(ASK).encode()).status_code)
    )
    asking.start()
    wait_until(lambda: len(our_site.vendor.asked) > asked)
    children = Path(f"/proc/{our_site.web_pid}/task/{our_site.web_pid}/children").read_text()
    for pid in children.split():
        os.kill(int(pid), signal.SIGKILL)
    asking.join(60)
    go_on.set()
    assert answers == [502]
    wait_until(lambda: _answers(our_site))
    assert len(our_site.vendor.asked) == asked + 1


def _answers(site: Site) -> bool:
    with suppress(requests.RequestException):
        url = f"{site.nginx.base_url}/readyz"
        return requests.get(url, verify=site.trust, timeout=60).status_code == 200
    return False
