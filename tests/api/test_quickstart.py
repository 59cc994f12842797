"""The quickstart of /docs, run as it stands: in a shell, in Python, in Node."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.api.docs_samples import quickstart
from tests.support.gateway import Gateway
from tests.support.services.node import PACKAGE
from tests.support.services.node_packages import installed
from tests.support.vendor import SimulatedVendor
from tests.support.vendor_chat import chatted


@pytest.fixture
def samples(gateway: Gateway, vendor: SimulatedVendor) -> Mapping[str, str]:
    """The samples, for a vendor that repeats what it is told."""
    vendor.default = lambda asked: chatted(asked.body)
    return quickstart(gateway.base_url.removesuffix("/v5"), "sim/m")


def run(gateway: Gateway, *command: str, folder: Path) -> str:
    """Run a command whose shell has the key; return what it prints."""
    env = {**os.environ, "OPENAI_API_KEY": gateway.api_key}
    env.pop("OPENAI_BASE_URL", None)
    done = subprocess.run(
        command, env=env, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["curl", "models"])
def test_in_a_shell(
    gateway: Gateway, samples: Mapping[str, str], tmp_path: Path, name: str
) -> None:
    if shutil.which("curl") is None:
        pytest.skip("no curl here")
    printed = run(gateway, "sh", "-c", samples[name], folder=tmp_path)
    assert ("event: done" if name == "curl" else '"supported_parameters"') in printed


def test_in_python(gateway: Gateway, samples: Mapping[str, str], tmp_path: Path) -> None:
    script = tmp_path / "start.py"
    script.write_text(samples["python"])
    printed = run(gateway, sys.executable, str(script), folder=tmp_path)
    assert printed.strip()
    assert gateway.event().status == "completed"


def test_in_node(gateway: Gateway, samples: Mapping[str, str], tmp_path: Path) -> None:
    modules = installed(PACKAGE) / "node_modules"
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "start.mjs").write_text(samples["node"])
    printed = run(gateway, "node", "start.mjs", folder=tmp_path)
    assert printed.strip()
    assert gateway.event().status == "completed"
