"""docs/systemd/: systemd accepts the units, and what they start serves as the page says."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import ExitStack
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import requests

from app.settings import ROOT, Settings
from tests.support.gateway import with_account
from tests.support.installation import (
    ASK,
    Service,
    counts_a_request,
    example_settings,
    is_ready,
    procfile,
    simulated,
)
from tests.support.operator import adapted, commands, program
from tests.support.processes import ended
from tests.support.services.polling import wait_until
from tests.support.services.valkey import Valkey
from tests.support.vendor import DONE, SimulatedVendor, body_of, choice, stream_reply

UNITS = ROOT / "docs" / "systemd"
CHECKOUT, VENV = "/opt/tollgate", "/opt/tollgate/.venv/bin"
SETTINGS_FILE = "/etc/tollgate/tollgate.env"
SERVICES = ["release", "web", "worker", "beat"]
STARTED = ["web", "worker", "beat"]

#: Passes a socket on as systemd does: as descriptor 3, to this process alone.
PASS = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
os.execvp(sys.argv[2], sys.argv[2:])
"""

#: The highest exposure that `systemd-analyze security` may find, of 100.
EXPOSURE = 20


def unit(name: str) -> ConfigParser:
    """A unit, as data."""
    found = ConfigParser(strict=False, interpolation=None, delimiters=("=",))
    found.optionxform = str  # type: ignore[assignment,method-assign]
    found.read(UNITS / name)
    return found


def service(name: str) -> ConfigParser:
    """The unit of a process type."""
    return unit(f"tollgate-{name}.service")


@pytest.fixture(scope="module")
def analyze() -> str:
    """systemd's own check; a machine without it skips its tests."""
    found = shutil.which("systemd-analyze")
    if found is None:
        assert "CI" not in os.environ, "CI verifies the units: install systemd"
        pytest.skip("no systemd here")
    return found


def programs(folder: Path) -> Path:
    """The programs that the units start, run by this Python."""
    modules = {"gunicorn": "gunicorn", "celery": "celery", "tollgate": "app.cli"}
    for name, module in modules.items():
        program(folder / name, f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
    return folder


def test_systemd_accepts_the_units(analyze: str, tmp_path: Path) -> None:
    tools = programs(tmp_path / "bin")
    program(tools / "tollgate-backup", "#!/bin/sh\n")
    places = {VENV: str(tools), "/usr/local/bin": str(tools), CHECKOUT: str(ROOT)}
    for path in UNITS.glob("*.*"):
        (tmp_path / path.name).write_text(adapted(path.read_text(), places, all_of=False))
    units = [str(path) for path in tmp_path.glob("tollgate*.*")]
    done = subprocess.run([analyze, "verify", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_can_do_little_beyond_its_work(analyze: str, name: str) -> None:
    path = UNITS / f"tollgate-{name}.service"
    options = ["security", "--offline=true", f"--threshold={EXPOSURE}", "--no-pager"]
    done = subprocess.run([analyze, *options, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-500:]


@pytest.mark.parametrize("name", SERVICES)
def test_a_unit_runs_the_command_of_the_procfile(name: str) -> None:
    command = shlex.split(service(name)["Service"]["ExecStart"])
    assert command[0].removeprefix(f"{VENV}/") in entry_points(group="console_scripts").names
    assert [command[0].removeprefix(f"{VENV}/"), *command[1:]] == procfile()[name]


def test_what_the_units_name_is_installed_by_the_page() -> None:
    steps = commands("deploying.md", "## One machine")
    assert any(line.endswith(f" .env.example {SETTINGS_FILE}") for line in steps)
    for path in UNITS.glob("*.service"):
        of = unit(path.name)
        assert of["Service"].get("WorkingDirectory", CHECKOUT) == CHECKOUT
        assert of["Service"].get("EnvironmentFile", SETTINGS_FILE) == SETTINGS_FILE
        assert of["Service"]["User"] in ("tollgate", "root")
        page = of["Unit"]["Documentation"].removeprefix(f"file://{CHECKOUT}/")
        assert (ROOT / page).is_file()
    spool = re.search(r"^TOLLGATE_SPOOL_DIR=(.+)$", (ROOT / ".env.example").read_text(), re.M)
    assert spool is not None
    for name in SERVICES:
        state = f"/var/lib/{service(name)['Service']['StateDirectory']}"
        assert spool[1].startswith(f"{state}/")
        assert any(line.endswith(f" {state}") for line in steps)


def test_the_page_copies_files_that_exist_and_enables_what_is_to_be_enabled() -> None:
    steps = [*commands("deploying.md", "## One machine"), *commands("backup.md", "## Backing up")]
    copied = {word for line in steps for word in line.split() if word.startswith("docs/")}
    assert [word for word in copied if not list(ROOT.glob(word))] == []
    installed = {path.name for word in copied for path in ROOT.glob(word)}
    assert {path.name for path in UNITS.iterdir()} <= installed
    enabled = {
        word if "." in word else f"{word}.service"
        for line in steps
        if line.startswith("systemctl enable")
        for word in line.split()[2:]
        if not word.startswith("-")
    }
    wanted = {path.name for path in UNITS.glob("*.*") if unit(path.name).has_section("Install")}
    assert enabled == wanted


def test_a_service_has_the_time_that_its_shutdown_takes() -> None:
    conf = (ROOT / "config" / "gunicorn.conf.py").read_text()
    abort_s = re.search(r"^graceful_timeout = .* \+ (\d+)$", conf, re.MULTILINE)
    grace = re.search(r"^#TOLLGATE_GRACE_S=(\d+)$", (ROOT / ".env.example").read_text(), re.M)
    assert abort_s is not None
    assert grace is not None
    assert int(service("web")["Service"]["TimeoutStopSec"]) >= int(grace[1]) + int(abort_s[1]) + 5
    assert all(service(name)["Service"]["KillMode"] == "mixed" for name in STARTED)


@pytest.fixture
def env(tmp_path: Path, own_valkey: Valkey, vendor: SimulatedVendor) -> dict[str, str]:
    """What a service gets: .env.example with addresses of this test, and nothing of ours."""
    found = example_settings(
        tmp_path / "tollgate.env",
        REDIS_URL=own_valkey.url,
        DATABASE_URL=f"sqlite:///{tmp_path / 'ledger.db'}",
        TOLLGATE_SPOOL_DIR=str(tmp_path / "state" / "spool"),
        TOLLGATE_GRACE_S="20",
        **simulated(tmp_path, vendor.url),
    )
    (tmp_path / "state").mkdir()
    return {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", **found}


def of_unit(name: str, env: dict[str, str], tools: Path) -> Service:
    """What a unit starts, with the programs in `tools`."""
    command = adapted(service(name)["Service"]["ExecStart"], {VENV: str(tools)})
    return Service(shlex.split(command), env)


class Socket:
    """What tollgate-web.socket is: it outlives the web processes."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self.listener.getsockname()[1]

    @property
    def fds(self) -> list[int]:
        """What a service inherits."""
        return [self.listener.fileno()]

    def activates(self, service: Service) -> Service:
        """Return a service that gets it, as systemd passes sockets."""
        passes = [sys.executable, "-c", PASS, str(self.listener.fileno())]
        return Service([*passes, *service.argv], service.env, service.cwd)


@pytest.fixture
def address() -> Iterator[Socket]:
    """A socket that no service closes."""
    it = Socket()
    yield it
    it.listener.close()


def test_the_units_serve_and_a_restart_refuses_no_connection(
    env: dict[str, str], tmp_path: Path, vendor: SimulatedVendor, address: Socket
) -> None:
    tools = programs(tmp_path / "bin")
    log = tmp_path / "web.log"
    web = address.activates(of_unit("web", env, tools))
    release = of_unit("release", env, tools).run()
    assert release.returncode == 0, release.stderr
    with ExitStack() as stack:
        for name in ("worker", "beat"):
            stack.enter_context(of_unit(name, env, tools).started(tmp_path / f"{name}.log"))
        with web.started(log, pass_fds=address.fds) as first:
            counts_a_request(address.port, env)
            settings = Settings.from_env(env)
            url = f"http://127.0.0.1:{address.port}"
            with with_account(f"{url}/v5", settings, "beta") as gateway:
                go_on, asked = threading.Event(), len(vendor.asked)
                vendor.reply(stream_reply(body_of(choice("first")), go_on, DONE))
                texts: list[str] = []
                stream = threading.Thread(
                    target=lambda: texts.append(gateway.post({**ASK, "stream": True}).text)
                )
                stream.start()
                wait_until(lambda: len(vendor.asked) > asked)
                first.send_signal(signal.SIGTERM)
                wait_until(lambda: "Handling signal: term" in log.read_text())
                waiting = socket.create_connection(("127.0.0.1", address.port), timeout=120)
                waiting.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
                go_on.set()
                stream.join(60)
                assert ended(first) == 0
                assert texts[0].endswith("[DONE]\n\n")
        with waiting, web.started(log, pass_fds=address.fds):
            assert b"200" in waiting.recv(100)
            wait_until(lambda: is_ready(address.port), deadline_s=120)


def test_reload_replaces_the_web_processes(
    env: dict[str, str], tmp_path: Path, address: Socket
) -> None:
    tools = programs(tmp_path / "bin")
    assert of_unit("release", env, tools).run().returncode == 0
    web = address.activates(of_unit("web", env, tools))
    with web.started(tmp_path / "web.log", pass_fds=address.fds) as process:
        wait_until(lambda: is_ready(address.port), deadline_s=120)
        before = children(process.pid)
        reload = service("web")["Service"]["ExecReload"].replace("$MAINPID", str(process.pid))
        subprocess.run(shlex.split(reload), check=True)
        wait_until(lambda: len(children(process.pid)) == 2 and not before & children(process.pid))
        answer = requests.get(f"http://127.0.0.1:{address.port}/livez", timeout=60)
        assert answer.status_code == 200


def children(pid: int) -> set[str]:
    return set(Path(f"/proc/{pid}/task/{pid}/children").read_text().split())


@pytest.mark.parametrize("name", STARTED)
def test_a_service_whose_settings_are_wrong_is_not_started_again(
    env: dict[str, str], tmp_path: Path, name: str
) -> None:
    starts = of_unit(name, {**env, "TOLLGATE_PROXIES": "none"}, programs(tmp_path / "bin"))
    log = tmp_path / "log"
    with starts.started(log) as process:
        code = ended(process)
    assert "TOLLGATE_PROXIES" in log.read_text()
    of = service(name)["Service"]
    assert of["Restart"] == "on-failure"
    assert str(code) in of["RestartPreventExitStatus"].split()


def test_the_command_has_the_settings_of_the_services(env: dict[str, str], tmp_path: Path) -> None:
    tools = programs(tmp_path / "bin")
    assert of_unit("release", env, tools).run().returncode == 0
    changes = {
        SETTINGS_FILE: str(tmp_path / "tollgate.env"),
        f"cd {CHECKOUT}\n": f"cd {ROOT}\n",
        "setpriv --reuid=tollgate --regid=tollgate --init-groups": "setpriv",
        ".venv/bin/tollgate": str(tools / "tollgate"),
    }
    script = program(tmp_path / "tollgate", adapted((UNITS / "tollgate").read_text(), changes))
    command = Service([str(script)], {"PATH": os.environ["PATH"]}, tmp_path)
    assert command.run("accounts", "create", "acme", "--name", "Acme Ltd").stdout == "acme\n"
    assert command.run("keys", "create", "acme").stdout.startswith("tg_")
    assert "acme" in command.run("accounts", "list").stdout
    done = command.run("reconcile")
    assert (done.returncode, "No problems found." in done.stderr) == (0, True), done.stderr
