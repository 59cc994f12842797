"""Dockerfile and compose.yaml: the image is built, or its steps are run, and its services serve."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.settings import ROOT
from tests.support.containerfile import Steps, context
from tests.support.installation import (
    Service,
    counts_a_request,
    example_settings,
    procfile,
    simulated,
)
from tests.support.ports import free_port
from tests.support.services.valkey import Valkey
from tests.support.vendor import SimulatedVendor

SERVICES = ["release", "web", "worker", "beat"]
STATE, CODE = "/var/lib/tollgate", "/opt/tollgate"


def compose() -> dict[str, Any]:
    """compose.yaml, as data."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
    return found


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Steps:
    """The image's steps, run in a folder; a laptop that reaches no index skips."""
    root = tmp_path_factory.mktemp("image")
    try:
        return Steps({CODE: root / "code", STATE: root / "state"}).do(sys.executable)
    except AssertionError as exc:
        if "CI" not in os.environ and "No matching distribution" in str(exc):
            pytest.skip("no package index here")
        raise


def test_the_image_has_what_runs_and_nothing_more(image: Steps) -> None:
    assert set(image.bases) == {"python:3.13-slim"}
    assert image.user == "tollgate"
    assert image.volumes == [STATE]
    assert image.command == procfile()["web"]
    assert len(image.not_run) == 1
    assert "--uid 10001" in image.not_run[0]
    folders = {path.partition("/")[0] for path in context()}
    assert folders >= {"app", "workers", "config", "constraints.txt"}
    assert not folders & {"tests", "bench", "docs", ".git", ".env", ".venv"}


def test_the_services_of_compose_serve_in_the_image(
    image: Steps, tmp_path: Path, own_valkey: Valkey, vendor: SimulatedVendor
) -> None:
    port, code = free_port(), image.folder
    values = {
        "REDIS_URL": own_valkey.url,
        "DATABASE_URL": f"sqlite:///{tmp_path / 'ledger.db'}",
        "PORT": str(port),
    }
    before = sorted(code.rglob("*"))
    with ExitStack() as stack:
        for name in SERVICES:
            of = compose()["services"][name]
            settings = of["environment"] | values | simulated(tmp_path, vendor.url)
            written = example_settings(tmp_path / ".env", **{"OPENAI_API_KEY": "sk-none"})
            env = {**image.env, **written, **settings}
            env = {key: image.placed(value) for key, value in env.items()}
            service = Service(
                [str(code / ".venv/bin" / of["command"][0]), *of["command"][1:]], env, code
            )
            if name == "release":
                done = service.run()
                assert done.returncode == 0, done.stderr
            else:
                stack.enter_context(service.started(tmp_path / f"{name}.log"))
            if name == "web":
                web = env
        counts_a_request(port, web)
        check = compose()["services"]["web"]["healthcheck"]["test"]
        assert check[0] == "CMD"
        probe = check[3].replace(":8000/", f":{port}/")
        assert (
            Service([str(code / ".venv/bin/python"), *check[2:3], probe], web).run().returncode == 0
        )
    assert sorted(code.rglob("*")) == before  # it may be read-only


def test_compose_runs_the_procfile_and_keeps_what_must_be_kept() -> None:
    services, commands = compose()["services"], procfile()
    assert {name: services[name]["command"] for name in SERVICES} == commands
    for name in SERVICES:
        of = services[name]
        assert (of["read_only"], of["cap_drop"]) == (True, ["ALL"])
        assert of["environment"]["TOLLGATE_SPOOL_DIR"].startswith(f"{STATE}/")
        assert f"tollgate:{STATE}" in of["volumes"]
    named = {it.partition(":")[0] for of in services.values() for it in of["volumes"]}
    assert named == set(compose()["volumes"])
    assert services["web"]["depends_on"] == {
        "release": {"condition": "service_completed_successfully"},
        "valkey": {"condition": "service_healthy"},
    }


def test_containers_have_the_time_that_their_shutdown_takes() -> None:
    services = compose()["services"]
    unit = (ROOT / "docs" / "systemd" / "tollgate-web.service").read_text()
    timeout = re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)
    assert timeout is not None
    assert services["web"]["stop_grace_period"] == f"{timeout[1]}s"
    assert services["worker"]["stop_grace_period"] == "60s"


def test_composes_valkey_persists_and_evicts_nothing(tmp_path: Path) -> None:
    _, *options = compose()["services"]["valkey"]["command"]
    server = Valkey(tmp_path, more=options).start()
    try:
        found = {
            name: server_setting(server, name)
            for name in ("appendonly", "appendfsync", "maxmemory-policy")
        }
    finally:
        server.kill()
    assert found == {
        "appendonly": "yes",
        "appendfsync": "everysec",
        "maxmemory-policy": "noeviction",
    }


def server_setting(server: Valkey, name: str) -> str:
    from redis import Redis

    with Redis.from_url(server.url, decode_responses=True) as client:
        return str(client.config_get(name)[name])


def builder() -> str | None:
    """Return a program that builds and runs images here; None without one."""
    for name in ("podman", "docker"):
        if shutil.which(name) and has_base(name):
            return name
    return None


def has_base(name: str) -> bool:
    """Whether a program works, and has the base image or can get it."""
    with contextlib.suppress(subprocess.SubprocessError, OSError):
        for words in (["image", "inspect"], ["pull", "--quiet"]):
            command = [name, *words, "python:3.13-slim"]
            if (
                subprocess.run(command, capture_output=True, timeout=60, check=False).returncode
                == 0
            ):
                return True
    return False


def test_an_image_is_built_and_runs_read_only() -> None:
    name = builder()
    if name is None:
        pytest.skip("nothing here can build an image of python:3.13-slim")
    tag = "tollgate-test"
    built = run([name, "build", "--tag", tag, str(ROOT)])
    assert built.returncode == 0, built.stdout + built.stderr
    try:
        script = (
            "id -u && touch /var/lib/tollgate/x /dev/shm/x && ! touch /opt/tollgate/x 2>/dev/null"
            " && tollgate db upgrade && tollgate accounts create acme"
        )
        ledger = f"DATABASE_URL=sqlite:///{STATE}/ledger.db"
        words = ["run", "--rm", "--read-only", "--cap-drop", "ALL", "--env", ledger, tag]
        done = run([name, *words, "sh", "-ec", script])
        assert (done.returncode, done.stdout) == (0, "10001\nacme\n"), done.stderr
    finally:
        run([name, "rmi", tag])


def run(command: list[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False)
