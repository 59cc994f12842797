"""Streams: many slow ones at once, and a few unthrottled ones."""

from collections.abc import Iterator
from dataclasses import replace

from bench.failures import StreamsBroken
from bench.figures import (
    CHAT_DOOR_STREAMS,
    CHAT_STREAMS,
    CHUNKS,
    FLAT_STREAMS,
    PADDED_STREAMS,
    STREAMS,
    open_streams,
)
from bench.knobs import FLAT_CHUNKS_A_WRITE
from bench.procs import largest_mb, memory_mb
from bench.results import Record
from bench.stage import Stage, metered, read_streams
from bench.streams import PERCENTS, StreamLoad, StreamResult
from bench.target import Target
from bench.tollgate import CHAT, PADDED

INTERVAL_MS = 50
PACED_CHUNKS = 120
OPENED_A_SECOND = 500.0
#: Streams that are incomplete this long after the expected end count as incomplete.
PATIENCE_S = 30.0

WARM_UP_STREAMS = 20

FLAT = 8
#: The length of a round of unthrottled streams, and the chunks of its warm-up.
FLAT_S = 2.5
FLAT_WARM_UP_CHUNKS = 400
FLAT_LIMIT_S = 120.0


def streams(stage: Stage) -> Iterator[Record]:
    """Measure many concurrent streams with a chunk every 50 ms; some of them warm up each target.

    A peer that did not keep up gets no larger case.
    """
    tollgate = stage.gateways[0]
    overloaded: set[str] = set()
    for target in stage.targets:
        _open(stage, target, WARM_UP_STREAMS)
    for count in (100, 500, 1000, 2000):
        asked = [it for it in stage.targets if it is tollgate or it.name not in overloaded]
        for _ in range(stage.rounds):
            for target in asked:
                record = _open(stage, target, count)
                if record.figures["complete"] < 100:
                    overloaded.add(target.name)
                yield record


def chunks(stage: Stage) -> Iterator[Record]:
    """Measure the chunks per second of a gateway at full speed, of completions and of chat.

    Of Tollgate, also those of completions that it gets through a vendor's chat.
    """
    tollgate = stage.gateways[0]
    cases = [
        *((FLAT_STREAMS, target) for target in stage.targets),
        *((CHAT_DOOR_STREAMS, target.chat) for target in stage.targets),
        (CHAT_STREAMS, replace(tollgate, prefix=f"{CHAT}/")),
        (PADDED_STREAMS, replace(tollgate, prefix=f"{PADDED}/")),
    ]
    lengths = [_flat_length(target) for _, target in cases]
    for _ in range(stage.rounds):
        for (case, target), length in zip(cases, lengths, strict=True):
            with metered(stage, target) as meter:
                found = _read_flat(target, length)
            figures = {
                "chunks_s": found.chunks / found.wall_s,
                "cpu_us": meter.cpu_s / found.chunks * 1e6,
            }
            yield Record(CHUNKS, case, target.name, figures, meter.shares)


def lags(found: StreamResult) -> dict[str, float]:
    """Return the percentiles of the lag."""
    return {f"{percent:g}": lag for percent, lag in zip(PERCENTS, found.lag_ms, strict=False)}


def lag_figures(found: StreamResult) -> dict[str, float]:
    """Return the metrics of completeness and lag."""
    figures = {"complete": 100 * found.complete / found.streams, "lost": found.lost}
    lag_ms, first_ms = dict(zip(PERCENTS, found.lag_ms, strict=False)), found.first_ms
    if lag_ms:
        figures |= {"lag_p50_ms": lag_ms[50], "lag_p99_ms": lag_ms[99], "lag_max_ms": lag_ms[100]}
        figures["first_p50_ms"] = dict(zip(PERCENTS, first_ms, strict=True))[50]
        figures["first_p99_ms"] = dict(zip(PERCENTS, first_ms, strict=True))[99]
    return figures


def _open(stage: Stage, target: Target, count: int) -> Record:
    lasting_s = count / OPENED_A_SECOND + PACED_CHUNKS * INTERVAL_MS / 1000
    plan = StreamLoad(
        target.port,
        target.request(f"paced-{PACED_CHUNKS}x{INTERVAL_MS}"),
        count,
        OPENED_A_SECOND,
        PACED_CHUNKS,
        lasting_s + PATIENCE_S,
    )
    before_mb = memory_mb(target.pid)
    seen_mb, largest = [before_mb], [0.0]

    def look() -> None:
        seen_mb.append(memory_mb(target.pid))
        largest.append(largest_mb(target.pid))

    with metered(stage, target) as meter:
        found = read_streams(plan, look)
    figures = lag_figures(found)
    figures["peak_mb"] = max(seen_mb)
    figures["worker_mb"] = max(largest)
    figures["stream_kb"] = (max(seen_mb) - before_mb) / count * 1000
    if found.chunks:
        figures["cpu_us"] = meter.cpu_s / found.chunks * 1e6
    case = open_streams(count)
    return Record(STREAMS, case, target.name, figures, meter.shares, lags(found))


def _flat_length(target: Target) -> int:
    """Return the number of chunks of an unthrottled stream in a round; measuring it warms up."""
    found = _read_flat(target, FLAT_WARM_UP_CHUNKS)
    target.settle()
    writes = int(found.chunks / found.wall_s * FLAT_S / FLAT / FLAT_CHUNKS_A_WRITE)
    return max(1, writes) * FLAT_CHUNKS_A_WRITE


def _read_flat(target: Target, length: int) -> StreamResult:
    request = target.request(f"flat-{length}")
    found = read_streams(StreamLoad(target.port, request, FLAT, 1e6, length, FLAT_LIMIT_S))
    if found.complete < found.streams:
        raise StreamsBroken(
            f"{target.name}: {found.complete} of {found.streams} streams are complete,"
            f" {found.lost} chunks lost, other statuses: {found.statuses}"
        )
    return found
