"""How much a noisy neighbour delays other streams."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from math import ceil

from bench.figures import BIG_PROMPTS, BULK, ISOLATION, NON_READERS, QUIET
from bench.knobs import BULK_TEXT_BYTES
from bench.parts.streams import INTERVAL_MS, lag_figures, lags
from bench.results import Record
from bench.stage import Stage, metered, outcome, read_streams, reading
from bench.streams import StreamLoad
from bench.target import Target
from bench.wrk import pressing

STREAMS, CHUNKS = 100, 80
#: All but 8 of 8,000 chunks: a single pause of the gateway delays more than that.
STALL_PERCENT = "99.9"
OPENED_A_SECOND = 500.0
QUIET_S = STREAMS / OPENED_A_SECOND + CHUNKS * INTERVAL_MS / 1000
#: The neighbour runs longer than the baseline streams.
NEIGHBOUR_S = QUIET_S + 1
PATIENCE_S = 20.0

BIG_PROMPT_BYTES = 1024 * 1024
#: 5 MB/s of text: every 10 ms, 50 chunks with 1 KiB each.
BULK_INTERVAL_MS, BULK_CHUNKS = 10, 50
NOT_READING = 20
#: Far more than all buffers on the way can hold.
NOT_READ_CHUNKS = 1_000_000


def isolation(stage: Stage) -> Iterator[Record]:
    """Measure 100 baseline streams, alone and beside each noisy neighbour.

    A round alone warms up each target.
    """
    for target in stage.targets:
        _quiet(stage, target, QUIET, _none)
    for _ in range(stage.rounds):
        for target in stage.targets:
            yield from _round(stage, target)


def _round(stage: Stage, target: Target) -> Iterator[Record]:
    alone = _quiet(stage, target, QUIET, _none)
    yield alone
    for case, neighbour in NEIGHBOURS.items():
        beside = _quiet(stage, target, case, neighbour)
        if alone.lags and beside.lags:  # a peer may have delivered no chunk at all
            stall_ms = beside.lags[STALL_PERCENT] - alone.lags[STALL_PERCENT]
            beside = replace(beside, figures={**beside.figures, "stall_ms": stall_ms})
        yield beside


#: A neighbour; its context yields a function that returns its MB/s, or None.
Neighbour = Callable[[Target], AbstractContextManager[dict[str, float]]]


def _quiet(stage: Stage, target: Target, case: str, neighbour: Neighbour) -> Record:
    request = target.request(f"paced-{CHUNKS}x{INTERVAL_MS}")
    limit_s = QUIET_S + PATIENCE_S
    plan = StreamLoad(target.port, request, STREAMS, OPENED_A_SECOND, CHUNKS, limit_s)
    with metered(stage, target) as meter, neighbour(target) as its_figures:
        found = read_streams(plan)
    figures = lag_figures(found) | its_figures
    return Record(ISOLATION, case, target.name, figures, meter.shares, lags(found))


@contextlib.contextmanager
def _none(_: Target) -> Iterator[dict[str, float]]:
    yield {}


@contextlib.contextmanager
def _big_prompts(target: Target) -> Iterator[dict[str, float]]:
    """Send one prompt of 1 MiB after another."""
    figures: dict[str, float] = {}
    with pressing(target, 1, ceil(NEIGHBOUR_S), "x" * BIG_PROMPT_BYTES) as ended:
        yield figures
        figures["neighbour_mb_s"] = ended().requests_s * BIG_PROMPT_BYTES / 1e6


@contextlib.contextmanager
def _bulk(target: Target) -> Iterator[dict[str, float]]:
    """Read one stream of 5 MB/s."""
    bursts = int(NEIGHBOUR_S * 1000 / BULK_INTERVAL_MS)
    request = target.request(f"bulk-{bursts}x{BULK_INTERVAL_MS}x{BULK_CHUNKS}")
    limit_s = NEIGHBOUR_S + PATIENCE_S
    figures: dict[str, float] = {}
    with reading(StreamLoad(target.port, request, 1, 1, bursts * BULK_CHUNKS, limit_s)) as reader:
        yield figures
        found = outcome(reader)
        figures["neighbour_mb_s"] = found.chunks * BULK_TEXT_BYTES / found.wall_s / 1e6


@contextlib.contextmanager
def _not_reading(target: Target) -> Iterator[dict[str, float]]:
    """Open unthrottled streams, and read nothing of them."""
    request = target.request(f"flat-{NOT_READ_CHUNKS}")
    plan = StreamLoad(
        target.port, request, NOT_READING, 1e6, NOT_READ_CHUNKS, NEIGHBOUR_S, reads=False
    )
    with reading(plan) as reader:
        yield {}
        outcome(reader)


NEIGHBOURS: Mapping[str, Neighbour] = {
    BIG_PROMPTS: _big_prompts,
    BULK: _bulk,
    NON_READERS: _not_reading,
}
