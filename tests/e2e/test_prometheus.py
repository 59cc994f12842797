"""A real Prometheus with docs/prometheus.yml: it scrapes, loads the rules and fills the board.

Grafana itself is not here: its panels' queries are sent to Prometheus, as Grafana sends them.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from app.settings import ROOT
from tests.observability.test_grafana import panels
from tests.support.gateway import Gateway
from tests.support.ports import free_port
from tests.support.processes import started
from tests.support.services.polling import wait_until
from tests.support.vendor import SimulatedVendor, json_reply

#: Panels of what does not happen in this test.
QUIET = {"Unknown finish reasons", "Dropped choices"}


@pytest.fixture(scope="module")
def prometheus() -> str:
    """Prometheus; without it, a developer's machine skips these tests."""
    found = shutil.which("prometheus")
    if found is None:
        assert "CI" not in os.environ, "CI tests the scrape: install prometheus"
        pytest.skip("no prometheus here")
    return found


@contextmanager
def scraping(program: str, folder: Path, target: str) -> Iterator[str]:
    """Run Prometheus with our files, and one change: it scrapes `target` each second."""
    config = yaml.safe_load((ROOT / "docs" / "prometheus.yml").read_text())
    (job,) = config["scrape_configs"]
    job |= {"scrape_interval": "1s", "static_configs": [{"targets": [target]}]}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    shutil.copy(ROOT / "docs" / "alerts.yml", folder)
    port = free_port()
    command = [
        program,
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (folder / "log").open("wb") as log, started(command, stdout=log, stderr=subprocess.STDOUT):
        base_url = f"http://127.0.0.1:{port}"
        wait_until(lambda: is_ready(base_url))
        yield base_url


def is_ready(base_url: str) -> bool:
    try:
        return requests.get(f"{base_url}/-/ready", timeout=5).ok
    except requests.ConnectionError:
        return False


def asked(base_url: str, path: str, **params: str) -> Any:
    """Return the data of an answer of Prometheus's API, which must be a success."""
    answer = requests.get(f"{base_url}/api/v1/{path}", params=params, timeout=30).json()
    assert answer["status"] == "success", answer
    return answer["data"]


def test_every_panel_shows_what_happens_and_every_rule_is_healthy(
    prometheus: str, tmp_path: Path, gateway: Gateway, vendor: SimulatedVendor
) -> None:
    target = gateway.base_url.removeprefix("http://").removesuffix("/v5")
    with scraping(prometheus, tmp_path, target) as base_url:

        def some_traffic() -> None:
            vendor.reply(json_reply({"error": {"message": "no"}}, 500))
            gateway.post({"model": "sim/m", "prompt": 5})
            for stream in (False, False, True):
                gateway.post({"model": "sim/m", "prompt": "one two", "stream": stream})

        def all_panels_show_something() -> bool:
            some_traffic()
            empty = {it["title"] for it in panels() if not shows(base_url, it)}
            return empty <= QUIET

        wait_until(all_panels_show_something, every_s=0.5)
        (scraped,) = asked(base_url, "query", query='up{job="tollgate"}')["result"]
        assert scraped["value"][1] == "1"
        rules = [r for group in asked(base_url, "rules")["groups"] for r in group["rules"]]
        assert {(it["name"], it["health"]) for it in rules if it["health"] == "err"} == set()


def shows(base_url: str, panel: dict[str, Any]) -> bool:
    """Return whether each of a panel's queries has a result, with Grafana's variables filled in."""
    queries = [target["expr"] for target in panel["targets"]]
    filled = [it.replace("$__rate_interval", "4s").replace("$vendor", ".*") for it in queries]
    return all(asked(base_url, "query", query=it)["result"] for it in filled)
