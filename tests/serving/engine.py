"""The engine of one process with a real vendor behind it, and none of our HTTP in front of it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis import Redis

from app.gateways.families import GATEWAYS
from app.serving.circuit_breaker import CircuitBreaker
from app.serving.failover import Calls
from app.serving.routing import Router
from app.serving.service import CompletionService
from app.storage.redis.connection import connect
from app.storage.redis.keys import EVENTS
from app.transport.call import Transport
from app.transport.watchdog import Watchdog
from app.usage.messages.event import UsageEvent
from app.usage.metering.meter import Meter
from app.usage.metering.request_context import RequestContext
from app.usage.recording.recorder import Recorder
from app.usage.redis.stores import Stores
from app.vendors.table import VendorTable
from app.vendors.vendor import Timeouts, Vendor
from app.vocabulary.completion import Completion, CompletionRequest
from tests.support.vendor import SimulatedVendor

CONTEXT = RequestContext(request_id="req_1", account_id="acme", api_key_id="key_1")

#: Timeouts that no test comes near unless it means to.
PATIENT = Timeouts()


def entry(name: str, url: str, *, gateway: str = "openai", **traits: Any) -> Vendor:
    """Return a vendor entry at `url`, with OpenAI's completions format, without retries."""
    defaults: dict[str, Any] = {"native": ("*",), "retries": 0, "timeouts": PATIENT}
    return Vendor(name=name, gateway=gateway, base_url=url, **(defaults | traits))


def asked(**fields: Any) -> CompletionRequest:
    """Return a request to the entry `first`, with `fields`."""
    return CompletionRequest(**({"model": "first/m", "prompt": "one two"} | fields))


@dataclass
class Engine:
    """The objects of one process; all entries are at one simulated vendor."""

    vendor: SimulatedVendor
    redis: "Redis"
    recorder: Recorder
    entries: list[Vendor]

    def __post_init__(self) -> None:
        """Make the collaborators that one process shares."""
        self.watchdog = Watchdog(tick_s=0.02)
        self.router = Router(VendorTable(self.entries), GATEWAYS)
        self.transport = Transport(self.watchdog, {})
        self.circuit_breaker = CircuitBreaker(self.redis)

    def calls(self, request: CompletionRequest) -> Calls:
        """Return the planned vendor calls of a request."""
        return Calls.planned(
            request,
            self.router.candidates(request),
            router=self.router,
            transport=self.transport,
            circuit_breaker=self.circuit_breaker,
        )

    def meter(self, request: CompletionRequest) -> Meter:
        """Return the open meter of a request."""
        meter = Meter(self.recorder, CONTEXT, request)
        meter.open()
        return meter

    def run(
        self, request: CompletionRequest, **how: Any
    ) -> tuple[list[Completion], Meter, BaseException | None]:
        """Run a request's calls; return the chunks, the meter, and what was raised."""
        chunks: list[Completion] = []
        meter = self.meter(request)
        try:
            self.calls(request).run(meter, chunks.append, **how)
        except Exception as exc:  # noqa: BLE001 - the test looks at it
            return chunks, meter, exc
        return chunks, meter, None

    def service(self) -> CompletionService:
        """Return the service in front of the calls."""
        return CompletionService(
            self.router, self.transport, self.circuit_breaker, self.recorder, self.watchdog
        )

    @property
    def events(self) -> list[UsageEvent]:
        """The recorded usage events."""
        found: Any = self.redis.xrange(EVENTS)
        return [UsageEvent.decode(record[b"event"]) for _, record in found]

    @property
    def models(self) -> list[str]:
        """The model of each call, in order."""
        return [call.body["model"] for call in self.vendor.asked]


@contextmanager
def engine_of(
    vendor: SimulatedVendor, redis_url: str, spool: Path, entries: list[Vendor]
) -> Iterator[Engine]:
    """Give an engine with these entries; its recorder ends with the block."""
    redis = connect(redis_url, 10.0)
    recorder = Recorder(Stores.of(redis), spool)
    engine = Engine(vendor, redis, recorder, entries)
    try:
        yield engine
    finally:
        recorder.close()
        engine.watchdog.close()


def in_thread(work: Callable[[], object]) -> threading.Thread:
    """Start `work` in a thread of its own."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread
