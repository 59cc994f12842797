"""The metrics of the benchmark, and their goals."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

TOLLGATE = "Tollgate"
VENDOR = "vendor alone"

#: The parts, and the cases that goals refer to.
STARTUP, LATENCY, STREAMS = "startup", "latency", "streams"
REQUESTS, CHUNKS, ISOLATION, SCALING = "requests", "chunks", "isolation", "scaling"
#: Separate measurements, each saved in a folder of its name.
BACKLOG, QUERIES, STEADY = "backlog", "queries", "steady"
START = "start-up"
ONE_CONNECTION = "1 connection"
FLAT_STREAMS = "8 unthrottled streams"
CHAT_STREAMS = "8 unthrottled streams, through chat"
CHAT_DOOR_STREAMS = "8 unthrottled streams, chat completions"
PADDED_STREAMS = "8 unthrottled streams, through chat, chunks padded"
QUIET = "100 baseline streams"
BIG_PROMPTS = "beside 1 MiB prompts"
BULK = "beside a 5 MB/s stream"
NON_READERS = "beside 20 stalled clients"
TWO_WEB = "2 web processes"


def connections(count: int) -> str:
    """Return the name of the case with `count` connections."""
    return f"{count} connections"


def chat_connections(count: int) -> str:
    """Return the name of the case with `count` connections that ask for chat completions."""
    return f"{count} connections, chat completions"


def open_streams(count: int) -> str:
    """Return the name of the case with `count` concurrent streams."""
    return f"{count:,} streams"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric; its key in METRICS ends with its unit."""

    label: str
    better: Literal["higher", "lower"]
    decimals: int = 0

    def show(self, value: float) -> str:
        """Return `value` as text for the table."""
        return f"{value:,.{self.decimals}f}"

    def is_worse(self, value: float, before: float, margin: float) -> bool:
        """Return whether `value` is worse than `before` by more than `margin`."""
        worse_by = before - value if self.better == "higher" else value - before
        return worse_by > margin


METRICS: Mapping[str, Metric] = {
    "start_s": Metric("time to first response, s", "lower", 2),
    "idle_mb": Metric("memory, MB", "lower"),
    "worker_mb": Metric("largest process, MB", "lower"),
    "requests_s": Metric("requests/s", "higher"),
    "ratio": Metric("speed-up", "higher", 2),
    "cpu_ms": Metric("CPU per request, ms", "lower", 3),
    "p50_ms": Metric("p50, ms", "lower", 2),
    "p99_ms": Metric("p99, ms", "lower", 2),
    "added_p50_ms": Metric("added p50, ms", "lower", 2),
    "added_p99_ms": Metric("added p99, ms", "lower", 2),
    "chunks_s": Metric("chunks/s", "higher"),
    "cpu_us": Metric("CPU per chunk, us", "lower", 1),
    "complete": Metric("complete, %", "higher", 1),
    "lost": Metric("chunks lost", "lower"),
    "first_p50_ms": Metric("first chunk p50, ms", "lower", 1),
    "first_p99_ms": Metric("first chunk p99, ms", "lower", 1),
    "lag_p50_ms": Metric("lag p50, ms", "lower", 1),
    "lag_p99_ms": Metric("lag p99, ms", "lower", 1),
    "lag_max_ms": Metric("lag max, ms", "lower", 1),
    "stall_ms": Metric("added lag p99.9, ms", "lower", 1),
    "neighbour_mb_s": Metric("noisy neighbour, MB/s", "higher", 1),
    "peak_mb": Metric("memory, MB", "lower"),
    "stream_kb": Metric("memory per stream, KB", "lower"),
}


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound for Tollgate's median, or a multiple of a peer's median."""

    part: str
    case: str
    figure: str
    bound: float
    peer: str | None = None

    def is_met(self, value: float, peer_value: float | None) -> bool | None:
        """Return whether `value` meets the goal; None if the peer was not measured."""
        bound = self.bound
        if self.peer is not None:
            if peer_value is None:
                return None
            bound *= peer_value
        return value >= bound if METRICS[self.figure].better == "higher" else value <= bound

    def __str__(self) -> str:
        sign = ">=" if METRICS[self.figure].better == "higher" else "<="
        return f"{sign} {self.bound:g}" + (f" x {self.peer}" if self.peer else "")


GOALS = (
    Goal(STARTUP, START, "start_s", 1.5),
    Goal(LATENCY, ONE_CONNECTION, "added_p50_ms", 0.8),
    Goal(LATENCY, ONE_CONNECTION, "added_p99_ms", 3),
    Goal(REQUESTS, connections(32), "requests_s", 1.25, "Portkey"),
    Goal(REQUESTS, connections(32), "requests_s", 18, "LiteLLM"),
    Goal(REQUESTS, connections(32), "cpu_ms", 0.55),
    Goal(REQUESTS, chat_connections(32), "requests_s", 1.25, "Portkey"),
    Goal(REQUESTS, chat_connections(32), "requests_s", 18, "LiteLLM"),
    Goal(CHUNKS, FLAT_STREAMS, "chunks_s", 40, "LiteLLM"),
    Goal(CHUNKS, FLAT_STREAMS, "cpu_us", 20),
    Goal(CHUNKS, CHAT_DOOR_STREAMS, "chunks_s", 40, "LiteLLM"),
    Goal(CHUNKS, CHAT_DOOR_STREAMS, "cpu_us", 20),
    Goal(STREAMS, open_streams(1000), "complete", 100),
    Goal(STREAMS, open_streams(1000), "lag_p99_ms", 25),
    Goal(STREAMS, open_streams(1000), "worker_mb", 150),
    Goal(STREAMS, open_streams(2000), "complete", 100),
    Goal(ISOLATION, BIG_PROMPTS, "stall_ms", 25),
    Goal(ISOLATION, BULK, "stall_ms", 25),
    Goal(ISOLATION, NON_READERS, "stall_ms", 25),
    Goal(SCALING, TWO_WEB, "ratio", 1.8),
)
