"""The parts of the benchmark: each applies a load to the targets and yields records.

Where a part has several rounds, they alternate between targets, so that a busy moment of the host
affects all of them.
"""

from collections.abc import Callable, Iterator, Mapping

from bench.figures import CHUNKS, ISOLATION, LATENCY, REQUESTS, SCALING, STARTUP, STREAMS
from bench.parts.isolation import isolation
from bench.parts.processes import scaling, startup
from bench.parts.requests import latency, requests
from bench.parts.streams import chunks, streams
from bench.results import Record
from bench.stage import Stage

#: In this order: memory never shrinks, so open streams come before heavier loads.
PARTS: Mapping[str, Callable[[Stage], Iterator[Record]]] = {
    STARTUP: startup,
    LATENCY: latency,
    STREAMS: streams,
    REQUESTS: requests,
    CHUNKS: chunks,
    ISOLATION: isolation,
    SCALING: scaling,
}
