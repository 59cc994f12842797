"""Compares this checkout with another one: `python -m bench.paired OTHER`, e.g. `../before`.

Both run at the same time, in front of one vendor and on one core, and get loads in turns. So a busy
host slows both, and a difference of a few percent shows. The other checkout needs its own .venv:
`git worktree add ../before main && make -C ../before .venv/bench.stamp`.
"""

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import click

from app.settings import ROOT
from bench.cores import pinned, split
from bench.parts.streams import FLAT
from bench.procs import processor_s, wait_for_rest
from bench.stage import raise_descriptors, read_streams, vendor_at
from bench.starting import START_S
from bench.stats import median_interval
from bench.streams import StreamLoad
from bench.target import Target
from bench.wrk import press
from tests.support.processes import ended

CONNECTIONS, LOAD_S = 32, 2
FLAT_CHUNKS, FLAT_LIMIT_S = 16_000, 120.0

#: Runs in each checkout, by its own Python, until its standard input ends.
SERVE = """
import json, sys
from pathlib import Path
from app.devstack.children import Children
from bench.tollgate import Tollgate
given = json.loads(sys.argv[1])
folder = Path(given["folder"])
tollgate = Tollgate(folder, given["vendor_port"], set(given["rest"]))
with Children(folder / "log", tollgate.environment()) as around:
    tollgate.start_accounting(around)
    web, target, _ = tollgate.start_web(folder / "web", set(given["cores"]))
    print(json.dumps([target.port, target.pid, dict(target.headers)]), flush=True)
    sys.stdin.read()
    web.stop()
"""


@click.command()
@click.argument("other", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--rounds", type=click.IntRange(2), default=20, show_default=True)
def main(other: Path, rounds: int) -> None:
    """Print the CPU time per request and per chunk, here and there, and the ratio."""
    raise_descriptors()
    cores, rest = split(os.sched_getaffinity(0), 1)
    with contextlib.ExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory()))
        exits.enter_context(pinned(rest))
        vendor = exits.enter_context(vendor_at(folder))
        given = {"vendor_port": vendor.port, "rest": list(rest), "cores": list(cores)}
        before, now = (
            exits.enter_context(serving(root, {**given, "folder": str(folder / name)}))
            for name, root in (("before", other.resolve()), ("now", ROOT))
        )
        for name, measured in CASES.items():
            click.echo(compare(name, partial(measured, before), partial(measured, now), rounds))


@contextlib.contextmanager
def serving(root: Path, given: Mapping[str, object]) -> Iterator[Target]:
    """Run the Tollgate of a checkout, and yield it."""
    python = root / ".venv" / "bin" / "python"
    process = subprocess.Popen(  # noqa: S603  # our own
        [python, "-c", SERVE, json.dumps(given)],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline() if process.stdout else ""
        if not line:
            raise click.ClickException(f"{root} does not start within {START_S:.0f} s")
        port, pid, headers = json.loads(line)
        yield Target(str(root), port, "/v5/completions", pid, "bench/", headers)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        ended(process)


def requests_us(target: Target) -> float:
    """Return the CPU time of a request, in microseconds."""
    used_s = processor_s(target.pid)
    rate = press(target, CONNECTIONS, LOAD_S)
    used_s = processor_s(target.pid) - used_s
    wait_for_rest(target.pid)
    return used_s / rate.requests * 1e6


def chunks_us(target: Target) -> float:
    """Return the CPU time of a chunk, in microseconds."""
    request = target.request(f"flat-{FLAT_CHUNKS}")
    used_s = processor_s(target.pid)
    found = read_streams(StreamLoad(target.port, request, FLAT, 1e6, FLAT_CHUNKS, FLAT_LIMIT_S))
    used_s = processor_s(target.pid) - used_s
    wait_for_rest(target.pid)
    return used_s / found.chunks * 1e6


CASES: Mapping[str, Callable[[Target], float]] = {
    "completions, CPU per request": requests_us,
    "streams, CPU per chunk": chunks_us,
}


def compare(name: str, before: Callable[[], float], now: Callable[[], float], rounds: int) -> str:
    """Measure both in turns, after a warm-up of each; return the summary in one line."""
    before()
    now()
    pairs = []
    for at in range(rounds):
        if at % 2:
            after, earlier = now(), before()
        else:
            earlier, after = before(), now()
        pairs.append((earlier, after))
    middle, low, high = median_interval([after / earlier for earlier, after in pairs])
    was, is_now = (median_interval(list(values))[0] for values in zip(*pairs, strict=True))
    return (
        f"{name}: {was:.1f} us, now {is_now:.1f} us: x {middle:.3f} (95 %: {low:.3f} to {high:.3f})"
    )


if __name__ == "__main__":
    main()
