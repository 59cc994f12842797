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


def report(title: str, samples: Sequence[Sample]) -> Iterator[str]:
    """Yield the lines of the report."""
    began, ended = posting_span(samples)
    millions = samples[0].waiting / 1e6
    seconds = ended.at_s - began.at_s
    workers_s, services_s = ended.workers_s - began.workers_s, ended.services_s - began.services_s
    yield title
    yield f"  posted in        {seconds:.1f} s, {millions * 1e6 / seconds:,.0f} events/s"
    yield f"  processor        {workers_s / millions:.1f} s per million events in workers,"
    yield f"                   {services_s / millions:.1f} s in Valkey and the database's server"
    yield f"  memory, at most  {max(it.memory_mb for it in samples):.0f} MB"
    yield f"    at each tenth  {' '.join(f'{mb:.0f}' for mb in at_tenths(samples))}"
