"""What `tollgate reconcile` says at the end, compared with what the judge knows."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping

from app.settings import ROOT
from tests.chaos.numbers import Numbers


def disagreements(env: Mapping[str, str], numbers: Numbers, *, has_dead: bool) -> Iterator[str]:
    """Yield where it does not say what is missing, or says that something else is wrong."""
    command = [sys.executable, "-m", "app.cli", "reconcile", "--json"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **env}, capture_output=True, check=False, timeout=300
    )
    if done.returncode not in (0, 1):
        yield f"tollgate reconcile: {done.stderr.decode()}"
        return
    found = json.loads(done.stdout)
    told = {
        (gap["process"], number)
        for gap in found["missing"]
        for number in range(gap["first"], gap["last"] + 1)
    }
    if told != numbers.told:
        yield f"tollgate reconcile tells {len(told)} missing requests, not {len(numbers.told)}"
    expected = {"Requests whose usage": bool(told), "Events that could not": has_dead}
    for problem in found["problems"]:
        if not any(is_so and problem.startswith(start) for start, is_so in expected.items()):
            yield f"tollgate reconcile: {problem}"
