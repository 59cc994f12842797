"""Requests without streaming: one after another, and at full speed."""

from collections.abc import Iterator

from bench.figures import LATENCY, ONE_CONNECTION, REQUESTS, chat_connections, connections
from bench.results import Record
from bench.stage import Stage, metered
from bench.wrk import press

WARM_UP_S = 2
LOAD_S = 4
LATENCY_S = 3
CONNECTIONS = 32


def latency(stage: Stage) -> Iterator[Record]:
    """Measure the latency that a gateway adds without other load."""
    for target in stage.targets:
        press(target, 1, WARM_UP_S)
    for _ in range(stage.rounds):
        alone = None
        for target in stage.targets:
            with metered(stage, target) as meter:
                rate = press(target, 1, LATENCY_S)
            figures = {"p50_ms": rate.p50_ms, "p99_ms": rate.p99_ms}
            if alone is None:  # the vendor is measured first
                alone = rate
            else:
                figures["added_p50_ms"] = rate.p50_ms - alone.p50_ms
                figures["added_p99_ms"] = rate.p99_ms - alone.p99_ms
            yield Record(LATENCY, ONE_CONNECTION, target.name, figures, meter.shares)


def requests(stage: Stage) -> Iterator[Record]:
    """Measure the requests per second of a gateway at full speed, for completions and chat."""
    cases = [
        *((connections(CONNECTIONS), target) for target in stage.targets),
        *((chat_connections(CONNECTIONS), target.chat) for target in stage.targets),
    ]
    for _, target in cases:
        press(target, CONNECTIONS, WARM_UP_S)
        target.settle()
    for _ in range(stage.rounds):
        for case, target in cases:
            with metered(stage, target) as meter:
                rate = press(target, CONNECTIONS, LOAD_S)
            figures = {
                "requests_s": rate.requests_s,
                "p50_ms": rate.p50_ms,
                "p99_ms": rate.p99_ms,
                "cpu_ms": meter.cpu_s / rate.requests * 1000,
            }
            yield Record(REQUESTS, case, target.name, figures, meter.shares)
