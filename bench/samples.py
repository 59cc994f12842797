"""Samples of a backlog while it is posted, and the report made from them. No I/O."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample, `at_s` seconds after the start.

    Processor seconds are totals since the start of each process, of the workers and of Valkey and
    the database's server. Memory is the workers'; shared memory is counted once.
    """

    at_s: float
    waiting: int
    workers_s: float
    services_s: float
    memory_mb: float


def posting_span(samples: Sequence[Sample]) -> tuple[Sample, Sample]:
    """Return the last sample before the first post, and the first with an empty backlog."""
    first = samples[0].waiting
    began = [sample for sample in samples if sample.waiting == first][-1]
    ended = next(sample for sample in samples if sample.waiting == 0)
    return began, ended


def at_tenths(samples: Sequence[Sample]) -> list[float]:
    """Return the memory in MB after each tenth of the backlog."""
    total = samples[0].waiting
    return [
        next(it.memory_mb for it in samples if it.waiting * 10 <= total * (10 - tenths))
        for tenths in range(1, 11)
    ]


def figures(samples: Sequence[Sample]) -> dict[str, float]:
    """Return the metrics of a posted backlog; processor time is per million events."""
    began, ended = posting_span(samples)
    millions = samples[0].waiting / 1e6
    seconds = ended.at_s - began.at_s
    return {
        "events": samples[0].waiting,
        "posted_s": seconds,
        "events_s": millions * 1e6 / seconds,
        "workers_cpu_s": (ended.workers_s - began.workers_s) / millions,
        "services_cpu_s": (ended.services_s - began.services_s) / millions,
        "tenth_mb": at_tenths(samples)[0],
        "most_mb": max(it.memory_mb for it in samples),
    }


def report(title: str, samples: Sequence[Sample]) -> Iterator[str]:
    """Yield the lines of the report."""
    found = figures(samples)
    yield title
    yield f"  posted in        {found['posted_s']:.1f} s, {found['events_s']:,.0f} events/s"
    yield f"  processor        {found['workers_cpu_s']:.1f} s per million events in workers,"
    yield f"                   {found['services_cpu_s']:.1f} s in Valkey and the database's server"
    yield f"  memory, at most  {found['most_mb']:.0f} MB"
    yield f"    at each tenth  {' '.join(f'{mb:.0f}' for mb in at_tenths(samples))}"
