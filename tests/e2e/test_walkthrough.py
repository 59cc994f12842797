"""The operator's walk: accounts and keys, use, four ways to read it that agree, and a cap."""

import csv
import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import requests
from openai import OpenAI, RateLimitError
from openai.types.admin.organization.usage_completions_response import (
    DataResultOrganizationUsageCompletionsResult,
)

from tests.e2e.deployment import Candidate
from tests.support.gateway import ROOT
from tests.support.services.polling import wait_until

ASK = {"model": "sim/m", "prompt": "one two", "max_tokens": 5}


def tollgate(deployment: Candidate, *args: str) -> str:
    """Run the command line, as an operator would; return its stdout."""
    env = {**os.environ, "DATABASE_URL": f"sqlite:///{deployment.root / 'ledger.db'}"}
    run = subprocess.run(
        [sys.executable, "-m", "app.cli", *args],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def caller(deployment: Candidate) -> tuple[str, str]:
    """Create an account with two keys on the command line; return the keys."""
    assert tollgate(deployment, "accounts", "create", "walk", "--name", "Walk Ltd") == "walk\n"
    key = tollgate(deployment, "keys", "create", "walk").strip()
    reader = tollgate(deployment, "keys", "create", "walk", "--scope", "usage").strip()
    listed = tollgate(deployment, "keys", "list")
    assert "walk" in listed
    assert key not in listed
    return key, reader


def client(deployment: Candidate, key: str) -> OpenAI:
    return OpenAI(
        base_url=deployment.gateway.base_url, api_key=key, admin_api_key=key, max_retries=0
    )


def test_client_http_command_line_and_file_tell_the_same(
    deployment: Candidate, caller: tuple[str, str]
) -> None:
    key, reader = caller
    for at in range(6):
        answer = client(deployment, key).completions.create(**ASK, stream=at % 2 == 1)  # type: ignore[call-overload]
        assert list(answer)
    assert deployment.usage("walk")
    since = int(time.time()) - 3600
    page = client(deployment, reader).admin.organization.usage.completions(start_time=since)
    by_client = (0, 0, 0)
    for bucket in page.data:
        for result in bucket.results:
            assert isinstance(result, DataResultOrganizationUsageCompletionsResult)
            counts = (result.num_model_requests, result.input_tokens, result.output_tokens)
            by_client = tuple(a + b for a, b in zip(by_client, counts, strict=True))  # type: ignore[assignment]
    assert by_client == (6, 12, 30)

    url = f"{deployment.gateway.base_url}/organization/usage/completions"
    headers, query = {"x-api-key": reader}, {"start_time": str(since), "format": "csv"}
    table = requests.get(url, headers=headers, params=query, timeout=30)
    rows = list(csv.DictReader(io.StringIO(table.text)))
    names = ("num_model_requests", "input_tokens", "output_tokens")
    assert tuple(sum(int(row[name] or 0) for row in rows) for name in names) == by_client

    del query["format"]
    data = requests.get(url, headers=headers, params=query, timeout=30).json()["data"]
    results = [result for bucket in data for result in bucket["results"]]
    assert tuple(sum(result[name] for result in results) for name in names) == by_client

    by_command = json.loads(
        tollgate(deployment, "usage", "walk", "--since", "1h", "--format", "json")
    )
    rows_of = by_command["rows"] if isinstance(by_command, dict) else by_command
    told = [row["requests"] for row in rows_of], [row["completion_tokens"] for row in rows_of]
    assert (sum(told[0]), sum(told[1])) == (6, 30)


def test_an_account_is_capped_hits_its_cap_and_is_let_go_on(
    deployment: Candidate, caller: tuple[str, str]
) -> None:
    key, _ = caller
    tollgate(deployment, "accounts", "limit", "walk", "--rpm", "2")

    def capped() -> bool:
        try:
            client(deployment, key).completions.create(**ASK)  # type: ignore[call-overload]
        except RateLimitError as exc:
            refusals.append(exc)
        return bool(refusals)

    refusals: list[RateLimitError] = []
    wait_until(capped)
    assert refusals[0].code == "rate_limit_exceeded"
    assert int(refusals[0].response.headers["retry-after"]) >= 1

    def let_go_on() -> bool:
        refusals.clear()
        return not capped()

    tollgate(deployment, "accounts", "limit", "walk", "--rpm", "100000")
    wait_until(let_go_on)


def test_what_is_known_of_usage_agrees(deployment: Candidate, tmp_path: Path) -> None:
    assert deployment.usage("walk")
    env = {
        **os.environ,
        "DATABASE_URL": f"sqlite:///{deployment.root / 'ledger.db'}",
        "REDIS_URL": deployment.redis_url,
        "TOLLGATE_SPOOL_DIR": str(tmp_path),
    }
    run = subprocess.run(
        [sys.executable, "-m", "app.cli", "reconcile"],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
