"""Load from many connections that each wait for their response, by wrk or by `rawload`."""

import contextlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from subprocess import PIPE, Popen, TimeoutExpired
from tempfile import NamedTemporaryFile
from typing import Any

from app.settings import ROOT
from bench.failures import LoadFailed
from bench.rawload import LAST_S, MARK, Load
from bench.target import HOST, PROMPT, Target

#: Lua's long brackets of this level do not occur in the benchmark's JSON.
_OPEN, _CLOSE = "[====[", "]====]"

_DONE = """
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '%s{"requests": %%d, "duration_us": %%d, "p50_us": %%d, "p99_us": %%d, "max_us": %%d, ' ..
    '"refused": %%d, "broken": %%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    latency.max, e.status, e.connect + e.read + e.write + e.timeout))
end
"""


@dataclass(frozen=True, slots=True)
class Rate:
    """The result of a load."""

    requests: int
    requests_s: float
    p50_ms: float
    p99_ms: float
    max_ms: float


def press(target: Target, connections: int, seconds: int) -> Rate:
    """Request complete responses from `target` for `seconds`.

    Raises: LoadFailed if a request failed.
    """
    with pressing(target, connections, seconds) as ended:
        return ended()


@contextlib.contextmanager
def pressing(
    target: Target, connections: int, seconds: int, prompt: str = PROMPT
) -> Iterator[Callable[[], Rate]]:
    """Run a load in the background; yield a function that waits for it and returns the result."""
    wrk = shutil.which("wrk")
    with ExitStack() as exits:
        if wrk is not None:
            lua = exits.enter_context(NamedTemporaryFile("w", suffix=".lua"))
            lua.write(script(target, prompt))
            lua.flush()
            url = f"http://{HOST}:{target.port}{target.path}"
            options = ["-t1", f"-c{connections}", f"-d{seconds}s", "--timeout=60s"]
            client = exits.enter_context(_running([wrk, *options, "-s", lua.name, url], ""))
        else:
            load = Load(target.port, target.request("whole", prompt), connections, seconds)
            command = [sys.executable, "-m", "bench.rawload"]
            client = exits.enter_context(_running(command, json.dumps(asdict(load))))
        yield lambda: _ended(target, client, seconds)


def to_rate(found: Mapping[str, Any]) -> Rate:
    """Return a client's values in our units."""
    return Rate(
        found["requests"],
        found["requests"] / found["duration_us"] * 1e6,
        found["p50_us"] / 1000,
        found["p99_us"] / 1000,
        found["max_us"] / 1000,
    )


def parse(output: str) -> dict[str, Any]:
    """Return the values that a client printed.

    Raises: LoadFailed if it printed none.
    """
    for line in output.splitlines():
        if line.startswith(MARK):
            found: dict[str, Any] = json.loads(line.removeprefix(MARK))
            return found
    raise LoadFailed(f"the client printed no results: {output}")


def script(target: Target, prompt: str) -> str:
    """Return the Lua script that sends the request and prints the values."""
    body = f"{_OPEN}{target.body('whole', prompt)}{_CLOSE}"
    lines = ['wrk.method = "POST"', f"wrk.body = {body}"]
    lines += [f'wrk.headers["{k}"] = {_OPEN}{v}{_CLOSE}' for k, v in target.all_headers().items()]
    return "\n".join(lines) + _DONE % MARK


def _ended(target: Target, client: Popen[str], seconds: int) -> Rate:
    try:  # each client has its own limit, of LAST_S for its last responses
        stdout, stderr = client.communicate(timeout=seconds + 2 * LAST_S)
    except TimeoutExpired as exc:
        raise LoadFailed(f"{target.name}: the client does not end") from exc
    if client.returncode:
        raise LoadFailed(f"{target.name}: the client exited with {client.returncode}: {stderr}")
    found = parse(stdout)
    if found["refused"] or found["broken"] or not found["requests"]:
        raise LoadFailed(f"{target.name}: {found}")
    return to_rate(found)


@contextlib.contextmanager
def _running(command: list[str], stdin: str) -> Iterator[Popen[str]]:
    with Popen(  # noqa: S603  # the commands are ours
        command, cwd=ROOT, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True
    ) as client:
        if client.stdin is None:
            raise RuntimeError("the client has no stdin")
        client.stdin.write(stdin)
        client.stdin.close()
        client.stdin = None
        try:
            yield client
        finally:
            client.kill()
