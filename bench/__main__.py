"""Run the benchmark: the sandbox vendor alone, and through the gateway, in turns.

Client, vendor, gateway, Valkey and worker share one machine, so rates are no capacities; ratios
and the gateway's own processor time are what compares. Accounting is on.
"""

import os
import platform
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from typing import TypeVar

import click

from app.accounts import Accounts
from app.cli.children import Children
from app.cli.stack import Stack, free_port, listen, port_of
from app.cli.tables import format_table
from app.database import create_engine, upgrade
from bench.load import Target, latencies_ms, requests_per_s, stream_all

T = TypeVar("T")

ROUNDS = 3
SEQUENTIAL = 300
REQUESTS, CONNECTIONS = 1500, 32
STREAMS, WORDS, DELAY_MS = 200, 40, 50


def main() -> None:
    """Start everything, measure, print a table."""
    with tempfile.TemporaryDirectory() as folder, listen(0) as web, listen(0) as sandbox:
        stack = Stack(Path(folder), web, sandbox, free_port())
        upgrade(stack.database_url)
        direct = Target(port_of(sandbox), "/v1/completions", "echo")
        through = Target(port_of(web), "/v5/completions", "sandbox/echo", make_key(stack))
        with Children(stack.var / "log", stack.environment()) as children:
            stack.start(children, lambda _: None)
            click.echo(machine())
            rows = measure(direct, through, lambda: processor_s(children.pid("web")))
        headings = ("", "vendor alone", "through Tollgate", "")
        for line in format_table(headings, rows, pretty=True):
            click.echo(line)


def measure(
    direct: Target, through: Target, processor: Callable[[], float]
) -> list[tuple[str, str, str, str]]:
    """Return the table: what, the vendor's figure, the gateway's, and how they compare."""
    for target in (direct, through):
        latencies_ms(target, SEQUENTIAL)  # connections made, code warm
    alone, added = alternate(direct, through, lambda t: latencies_ms(t, SEQUENTIAL))
    latency = [flatten(alone), flatten(added)]
    used_s = processor()
    rates = alternate(direct, through, lambda t: requests_per_s(t, REQUESTS, CONNECTIONS))
    request_ms = (processor() - used_s) / (ROUNDS * REQUESTS) * 1000
    used_s = processor()
    streams = alternate(direct, through, lambda t: stream_all(t, STREAMS, WORDS, DELAY_MS))
    chunk_us = (processor() - used_s) / (ROUNDS * STREAMS * (WORDS + 1)) * 1e6
    p50s, p99s = [[quantiles(ms, n=100)[at] for ms in latency] for at in (49, 98)]
    fastest_s = WORDS * DELAY_MS / 1000
    return [
        row("latency p50, one connection, ms", p50s, f"+{p50s[1] - p50s[0]:.2f}"),
        row("latency p99, one connection, ms", p99s, f"+{p99s[1] - p99s[0]:.2f}"),
        row(f"requests/s, {CONNECTIONS} connections", [median(r) for r in rates], "ratio"),
        ("  gateway's processor time a request, ms", "", f"{request_ms:.2f}", ""),
        row(
            f"{STREAMS} streams at once, {fastest_s:.0f} s each, s",
            [median(s) for s in streams],
            "all complete",
        ),
        ("  gateway's processor time a chunk, us", "", f"{chunk_us:.0f}", ""),
    ]


def alternate(
    direct: Target, through: Target, run: Callable[[Target], T]
) -> tuple[list[T], list[T]]:
    """Run both in turns, so that a busy moment of the machine meets both."""
    pairs = [(run(direct), run(through)) for _ in range(ROUNDS)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def row(what: str, figures: list[float], note: str) -> tuple[str, str, str, str]:
    """Return one line of the table."""
    if note == "ratio":
        note = f"x {figures[1] / figures[0]:.2f}"
    return (what, f"{figures[0]:,.2f}", f"{figures[1]:,.2f}", note)


def flatten(rounds: list[list[float]]) -> list[float]:
    """Return every round's figures as one list."""
    return [figure for figures in rounds for figure in figures]


def make_key(stack: Stack) -> str:
    """Return a key of a new account."""
    engine = create_engine(stack.database_url)
    accounts = Accounts(engine)
    accounts.create("bench", "Bench")
    _, secret = accounts.create_key(["bench"], ["completions"])
    engine.dispose()
    return secret


def processor_s(master: int) -> float:
    """Return the processor time of a gunicorn's one worker so far, in seconds."""
    worker = Path(f"/proc/{master}/task/{master}/children").read_text().split()[0]
    fields = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def machine() -> str:
    """Return what this ran on."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    models = {x.partition(":")[2].strip() for x in cpuinfo.splitlines() if "model name" in x}
    return (
        f"{', '.join(models) or platform.machine()}, {os.cpu_count()} cores shared by client,"
        f" vendor, gateway, Valkey and worker; Python {platform.python_version()};"
        f" load before {os.getloadavg()[0]:.1f}\n"
    )


if __name__ == "__main__":
    main()
