"""Endurance: the same load every minute, with the results of each minute."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from bench.figures import STEADY, TOLLGATE
from bench.parts.requests import CONNECTIONS
from bench.procs import memory_mb
from bench.results import Record
from bench.stage import Stage, metered, read_streams
from bench.stats import percentile
from bench.streams import PERCENTS, StreamLoad
from bench.target import Target
from bench.wrk import press

#: A minute: requests at full speed, then streams.
REQUESTS_S = 45
STREAMS, CHUNKS, INTERVAL_MS = 500, 240, 50
OPENED_A_SECOND = 500.0
LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Minute:
    """The results of one minute; memory is that at its end."""

    requests_s: float
    p99_ms: float
    cpu_ms: float
    complete: int
    lag_p99_ms: float
    memory_mb: float
    backlog: int

    def __str__(self) -> str:
        return (
            f"{self.requests_s:,.0f} requests/s, p99 {self.p99_ms:.1f} ms,"
            f" CPU {self.cpu_ms:.3f} ms; {self.complete} of {STREAMS} streams complete,"
            f" lag p99 {self.lag_p99_ms:.1f} ms; {self.memory_mb:.1f} MB;"
            f" {self.backlog} events wait for the ledger"
        )


def run_steadily(stage: Stage, count: int) -> Iterator[Minute]:
    """Yield the result of each minute."""
    for _ in range(count):
        yield _minute(stage, stage.gateways[0])


def records(minutes: Sequence[Minute]) -> list[Record]:
    """Return minutes as records to save: each is a round."""
    return [
        Record(STEADY, f"{len(minutes)} minutes", TOLLGATE, {k: v for k, v in asdict(it).items()})
        for it in minutes
    ]


def compare(minutes: list[Minute]) -> Iterator[str]:
    """Yield the differences between the medians of the last and the first third of `minutes`.

    The first minute is a warm-up; it counts only if there is no other.
    """
    warm = minutes[1:] or minutes
    third = max(1, len(warm) // 3)
    for what, name in (
        ("requests/s", "requests_s"),
        ("p99, ms", "p99_ms"),
        ("CPU per request, ms", "cpu_ms"),
        ("lag p99, ms", "lag_p99_ms"),
        ("memory, MB", "memory_mb"),
    ):
        first, last = (
            percentile(sorted(getattr(one, name) for one in part), 50)
            for part in (warm[:third], warm[-third:])
        )
        change = f" ({last / first - 1:+.1%})" if first else ""
        yield f"{what}: {first:,.2f} in the first third, {last:,.2f} in the last{change}"


def _minute(stage: Stage, target: Target) -> Minute:
    with metered(stage, target) as meter:
        rate = press(target, CONNECTIONS, REQUESTS_S)
        backlog = stage.tollgate.backlog()
    request = target.request(f"paced-{CHUNKS}x{INTERVAL_MS}")
    found = read_streams(
        StreamLoad(target.port, request, STREAMS, OPENED_A_SECOND, CHUNKS, LIMIT_S)
    )
    target.settle()
    lags = dict(zip(PERCENTS, found.lag_ms, strict=True))
    return Minute(
        rate.requests_s,
        rate.p99_ms,
        meter.cpu_s / rate.requests * 1000,
        found.complete,
        lags[99],
        memory_mb(target.pid),
        backlog,
    )
