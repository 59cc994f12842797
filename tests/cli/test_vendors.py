import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli import main
from app.cli.vendors_page import vendors_page
from app.devstack.running import left
from tests.support.gateway import Gateway
from tests.support.services.listener import Listener
from tests.support.services.tls import TLSProxy
from tests.support.vendor import SimulatedVendor, json_reply

DOCS = Path(__file__).parent.parent.parent / "docs" / "vendors.md"


def run(*args: str, **env: str) -> Result:
    """Run the command where no `tollgate dev` runs, unless `env` has its directory."""
    given = {"TOLLGATE_VENDORS": "", "TOLLGATE_VAR": "/nowhere", **env}
    return CliRunner().invoke(main, ["vendors", *args], env=given)


def test_the_page_says_what_the_table_says() -> None:
    assert DOCS.read_text() == vendors_page() == run("--markdown").stdout, (
        "run `tollgate vendors --markdown > docs/vendors.md`"
    )


def test_each_vendor_is_shown_with_what_it_lacks() -> None:
    result = run(OPENAI_API_KEY="sk-secret-1", COHERE_API_KEY="")
    assert result.exit_code == 0
    lines = {line.split()[0]: line for line in result.stdout.splitlines()}
    assert "yes" in lines["openai"]
    assert "CO_API_KEY is not set" in lines["cohere"]
    assert "sk-secret" not in result.output


def test_a_base_url_is_shown_unless_a_variable_of_it_is_missing() -> None:
    unset = {"OPENAI_API_KEY": "", "TOLLGATE_SANDBOX_URL": ""}
    rows = {row["vendor"]: row for row in json.loads(run("--json", **unset).stdout)}
    assert rows["openai"]["base_url"] == "https://api.openai.com/v1"
    assert rows["openai"]["configured"] == "no: OPENAI_API_KEY is not set"
    assert rows["sandbox"]["base_url"] is None
    assert rows["azure"]["base_url"] is None


def test_beside_a_dev_it_tells_what_that_can_call(tmp_path: Path, gateway: Gateway) -> None:
    left_by_dev = {
        "OPENAI_BASE_URL": gateway.base_url,
        "OPENAI_API_KEY": gateway.api_key,
        "TOLLGATE_SANDBOX_URL": "http://127.0.0.1:9/v1",
    }
    vendors = tmp_path / "vendors.toml"
    vendors.write_text(
        '[vendors.sim]\ngateway = "openai"\nbase_url = "http://s/v1"\napi_key_env = "SIM_HERE"\n'
        '[vendors.picky]\ngateway = "openai"\nbase_url = "http://s/v1"\n'
    )
    here = {"TOLLGATE_VENDORS": str(vendors), "OPENAI_API_KEY": "", "TOLLGATE_SANDBOX_URL": ""}
    with left(tmp_path / "dev-env", left_by_dev):
        result = run("--json", TOLLGATE_VAR=str(tmp_path), **here)
        pasted = run("--json", TOLLGATE_VAR=str(tmp_path), **{**here, **left_by_dev})
    assert f"`tollgate dev` is running at {gateway.base_url}" in result.stderr
    rows = {row["vendor"]: row for row in json.loads(result.stdout)}
    assert rows["sim"]["configured"] == "in `tollgate dev`"
    assert rows["picky"]["configured"] == "yes"
    assert rows["sandbox"]["configured"] == "here, but not in `tollgate dev`"
    assert rows["sandbox"]["base_url"] == left_by_dev["TOLLGATE_SANDBOX_URL"]
    # Tollgate's own key is none of OpenAI's.
    rows = {row["vendor"]: row for row in json.loads(pasted.stdout)}
    assert rows["openai"]["configured"] == "no: OPENAI_API_KEY is a key of Tollgate"


def test_check_tells_who_answers_and_fails_when_one_does_not(
    tmp_path: Path, vendor: SimulatedVendor
) -> None:
    def models(status: int) -> str:
        return f'[vendors.v{status}]\ngateway = "openai"\nbase_url = "{vendor.url}/{status}"\n'

    table = tmp_path / "vendors.toml"
    vendor.default = lambda asked: json_reply({}, int(asked.path.split("/")[2]))
    table.write_text(models(200) + models(404))
    result = run("--check", "--json", TOLLGATE_VENDORS=str(table))
    checks = {row["vendor"]: row["check"] for row in json.loads(result.stdout)}
    assert result.exit_code == 0
    assert checks["v200"] == "ok"
    assert "not checked" in checks["v404"]
    assert checks["openai"] is None

    down = '[vendors.down]\ngateway = "openai"\nbase_url = "http://127.0.0.1:1/v1"\n'
    table.write_text(models(401) + models(503) + down)
    result = run("--check", "--json", TOLLGATE_VENDORS=str(table))
    checks = {row["vendor"]: row["check"] for row in json.loads(result.stdout)}
    assert result.exit_code == 1
    assert checks["v401"] == "key rejected (HTTP 401)"
    assert checks["v503"] == "fails (HTTP 503)"
    assert checks["down"].startswith("unreachable")


def check(table: Path, url: str, **env: str) -> str:
    """Return what --check says of a vendor at `url`; its time to connect is short."""
    entry = f'[vendors.v]\ngateway = "openai"\nbase_url = "{url}"\n'
    table.write_text(entry + "timeouts = {connect_s = 0.3}\n")
    unset = dict.fromkeys(("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"), "")
    result = run("--check", "--json", **{"TOLLGATE_VENDORS": str(table), **unset, **env})
    checks = {row["vendor"]: row["check"] for row in json.loads(result.stdout)}
    assert (result.exit_code == 0) is checks["v"].startswith("ok")
    return str(checks["v"])


def test_check_says_in_plain_words_why_a_vendor_is_not_reached(
    tmp_path: Path, vendor: SimulatedVendor
) -> None:
    table = tmp_path / "vendors.toml"
    front = TLSProxy(tmp_path, int(vendor.url.split(":")[2].split("/")[0]))
    vendor.default = lambda _: json_reply({})
    tls = f"https://127.0.0.1:{front.port}/v1"
    untrusted = "unreachable: its TLS certificate is not trusted (self-signed)"
    assert check(table, tls) == untrusted
    assert check(table, tls, SSL_CERT_FILE=str(front.certificate)) == "ok"
    missing = check(table, tls, SSL_CERT_FILE=str(tmp_path / "none"))
    assert missing == "unreachable: SSL_CERT_FILE names a path that does not exist"
    front.stop()
    unknown = check(table, "http://" + "x" * 64 + ".example/v1")
    assert unknown == "unreachable: its host name is unknown"
    refused = check(table, "http://127.0.0.1:1/v1")
    assert refused == "unreachable: it refused the connection"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        slow = check(table, f"https://127.0.0.1:{silent.getsockname()[1]}/v1")
    assert slow == "unreachable: it did not accept a connection in time"
    vendor.default = lambda _: json_reply({}, 307, location="/elsewhere")
    assert check(table, vendor.url) == "redirects (HTTP 307): check base_url"


def test_check_tells_a_server_that_does_not_answer_from_one_that_is_no_vendor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.transport.probe.PROBE_S", 0.3)
    table = tmp_path / "vendors.toml"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        slow = check(table, f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
    assert slow.startswith("unreachable: it did not respond in")

    def greet(connection: socket.socket) -> None:
        with connection:
            connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
            connection.recv(65536)

    other = Listener(greet)
    strange = check(table, f"http://127.0.0.1:{other.port}/v1")
    assert strange == "unreachable: it sent a response that is not HTTP"
    other.stop()


def test_a_wrong_table_is_a_sentence(tmp_path: Path) -> None:
    table = tmp_path / "vendors.toml"
    table.write_text('[vendors.x]\ngateway = "nope"\n')
    result = run(TOLLGATE_VENDORS=str(table))
    assert result.exit_code == 1
    assert "gateway" in result.stderr


@pytest.mark.parametrize(
    "flags", [("--chat", "--markdown"), ("--chat", "--json"), ("--markdown", "--check")]
)
def test_only_one_table_at_a_time(flags: tuple[str, str]) -> None:
    result = run(*flags)
    assert result.exit_code == 2
    assert "print other tables: use one of them alone" in result.stderr


@pytest.mark.parametrize("flag", ["--check", "--json"])
def test_the_help_says_what_a_flag_does(flag: str) -> None:
    assert flag in run("--help").stdout
