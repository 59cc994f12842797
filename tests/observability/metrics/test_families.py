"""The metric families of a process: their names, their labels and their help texts."""

import os
import subprocess
import sys
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest

from app.observability.metrics.directory import VARIABLE
from app.observability.metrics.families import Families
from app.settings import ROOT

#: Counts once in this process and once in a process that it forks, and prints what is collected.
TWO_PROCESSES = """
import os
from prometheus_client import CollectorRegistry, generate_latest
from app.observability.metrics.families import Families

families = Families()
families.http_requests.labels("/v5/models", 200).inc()
families.open_completions.labels("true").inc()
pid = os.fork()
if not pid:
    families.http_requests.labels("/v5/models", 200).inc(2)
    families.open_completions.labels("true").inc(3)
    os._exit(0)
os.waitpid(pid, 0)
registry = CollectorRegistry()
registry.register(families.collector())
print(generate_latest(registry).decode())
"""

#: Counts, and prints how often the process's ID was asked for.
ONE_COUNT = """
import os

asked = []
getpid = os.getpid
os.getpid = lambda: asked.append(1) or getpid()
from app.observability.metrics.families import Families

families = Families()
asked.clear()
families.http_requests.labels("/v5/models", 200).inc()
print(len(asked))
"""


def lines(families: Families) -> list[str]:
    registry = CollectorRegistry()
    registry.register(families.collector())
    return generate_latest(registry).decode().splitlines()


def test_each_family_has_a_help_text_and_no_series_before_its_first_count() -> None:
    found = lines(Families())
    names = {line.split()[2] for line in found if line.startswith("# TYPE ")}
    assert len(names) == 13
    assert names == {line.split()[2] for line in found if line.startswith("# HELP ")}
    assert all(name.startswith("tollgate_") for name in names)
    assert not [line for line in found if not line.startswith("#")]


def test_families_of_two_deployments_in_one_process_are_separate() -> None:
    one, other = Families(), Families()
    one.completions.labels("e", "v", "m", "failed").inc()
    series = 'tollgate_completions_total{endpoint="e",model="m",status="failed",vendor="v"}'
    assert f"{series} 1.0" in lines(one)
    assert not [line for line in lines(other) if line.startswith("tollgate_completions_total{")]


def in_a_process(code: str, directory: Path) -> str:
    """Run code in a process that shares its counts in a directory; return what it prints."""
    env = {**os.environ, VARIABLE: str(directory), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return ran.stdout


def test_processes_that_share_a_directory_report_the_counts_of_all(tmp_path: Path) -> None:
    printed = in_a_process(TWO_PROCESSES, tmp_path)
    assert 'tollgate_http_requests_total{route="/v5/models",status="200"} 3.0' in printed
    assert 'tollgate_open_completions{stream="true"} 4.0' in printed


def test_a_count_does_not_ask_for_the_process_id(tmp_path: Path) -> None:
    assert in_a_process(ONE_COUNT, tmp_path) == "0\n"
