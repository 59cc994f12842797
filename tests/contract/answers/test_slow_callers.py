"""Deadlines count only the time of waiting for the vendor, and not that of a slow caller."""

import http.client
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contract.answers.parts import Counts, Part, Wire
from tests.contract.answers.site import Site, Told, read, serving
from tests.contract.answers.wires import WIRES
from tests.support.services.valkey import Valkey
from tests.support.vendor import Reply

IDLE_S = 1.0
#: How long a caller does not read.
ASLEEP_S = 2.5 * IDLE_S
CALLERS = 12
#: More bytes than the gateway's side holds for a caller that does not read (4 MB), in pieces.
PIECE, PIECES = "word " * 13_000, 100
WINDOW = 64 * 1024


@pytest.fixture(scope="module")
def hasty_site(tmp_path_factory: pytest.TempPathFactory, valkey: Valkey) -> Iterator[Site]:
    """A gateway that gives its vendors a second from one event to the next."""
    with serving(tmp_path_factory.mktemp("hasty"), valkey.url, idle_s=IDLE_S) as site:
        site.window = WINDOW
        yield site


@pytest.fixture
def hasty(hasty_site: Site) -> Site:
    """The same gateway, with all state reset."""
    hasty_site.clear()
    return hasty_site


def long_answer(wire: Wire) -> Reply:
    """Return a long stream, sent as fast as it is read."""
    usage = wire.usage(Counts(20, 7))
    pieces = [wire.event(Part(PIECE))] * PIECES
    end = wire.event(Part("", wire.stop), usage=usage)
    return wire.stream(wire.opening(usage), *pieces, end, wire.mark)


def asleep_then_reading(site: Site, wire: Wire, asleep_s: float) -> Told:
    """Send a request, do not read for a while, then read all of it."""
    with site.open(wire, stream=True) as caller:
        time.sleep(asleep_s)  # what a slow caller does is what is tested
        return read(caller.response, stream=True)


@pytest.mark.parametrize("name", ["text", "anthropic", "converse"])
def test_a_caller_that_sleeps_longer_than_a_vendor_may_is_served(hasty: Site, name: str) -> None:
    wire = WIRES[name]
    hasty.always(lambda _: long_answer(wire))
    told = asleep_then_reading(hasty, wire, ASLEEP_S)
    assert told.is_whole(), (told.error, told.cut)
    assert len(told.texts[0]) == len(PIECE) * PIECES
    event = hasty.event()
    assert (event.status, event.source, event.prompt_tokens) == ("completed", "vendor", 20)
    assert not hasty.is_blamed()


def test_many_slow_callers_put_no_vendor_to_rest(hasty: Site) -> None:
    wire = WIRES["text"]
    hasty.always(lambda _: long_answer(wire))
    with ThreadPoolExecutor(CALLERS) as pool:
        asked = [pool.submit(asleep_then_reading, hasty, wire, ASLEEP_S) for _ in range(CALLERS)]
        told = [future.result() for future in asked]
    assert all(one.is_whole() for one in told)
    events = hasty.gateway.events(CALLERS)
    assert [event.status for event in events] == ["completed"] * CALLERS
    assert not hasty.is_blamed()


def test_a_slow_caller_that_leaves_has_left(hasty: Site) -> None:
    wire = WIRES["text"]
    hasty.always(lambda _: long_answer(wire))
    with hasty.open(wire, stream=True):
        time.sleep(ASLEEP_S)
    event = hasty.event()
    assert event.status == "disconnected"
    assert event.completion_tokens > 0
    assert not hasty.is_blamed()


def test_a_vendor_that_is_slow_itself_meets_its_deadline_all_the_same(hasty: Site) -> None:
    wire = WIRES["text"]
    hasty.says(wire.stream(wire.event(Part("begun")), threading.Event()))
    with hasty.open(wire, stream=True) as caller:
        told = read(caller.response, stream=True)
    assert told.error is not None
    assert told.error["code"] == "vendor_timeout"
    assert hasty.event().status == "truncated"
    assert hasty.is_blamed()


@pytest.mark.parametrize("name", ["anthropic", "chat", "gemini"])
def test_a_stream_that_met_its_deadline_costs_what_the_vendor_had_counted(
    hasty: Site, name: str
) -> None:
    wire = WIRES[name]
    usage = wire.usage(Counts(2010, 3, 2000))
    begun = wire.event(Part("alpha beta gamma"), usage=None if name == "anthropic" else usage)
    hasty.says(wire.stream(wire.opening(usage), begun, threading.Event()))
    with hasty.open(wire, stream=True) as caller:
        told = read(caller.response, stream=True)
    assert told.cut
    event = hasty.event()
    assert (event.status, event.prompt_source) == ("truncated", "vendor")
    assert (event.prompt_tokens, event.cached_tokens, event.completion_tokens) == (2010, 2000, 3)


def test_a_vendor_that_is_slow_after_a_slow_caller_has_its_own_time(hasty: Site) -> None:
    """The caller's pause does not shorten the vendor's time for the next event."""
    wire = WIRES["text"]
    usage = wire.usage(Counts(20, 7))
    pieces = [wire.event(Part(PIECE))] * PIECES
    end = wire.event(Part("", "stop"), usage=usage)
    hasty.says(wire.stream(*pieces, IDLE_S / 2, end, wire.mark))
    told = asleep_then_reading(hasty, wire, ASLEEP_S)
    assert told.is_whole(), (told.error, told.cut)
    assert hasty.event().status == "completed"


def test_a_caller_that_reads_in_sips_is_served(hasty: Site) -> None:
    wire = WIRES["text"]
    hasty.always(lambda _: long_answer(wire))
    with hasty.open(wire, stream=True) as caller:
        content = _sipped(caller.response)
    assert b"event: done" in content[-100:]
    assert hasty.event().status == "completed"
    assert not hasty.is_blamed()


def _sipped(response: http.client.HTTPResponse) -> bytes:
    """Read a megabyte at a time, with pauses longer than a vendor's timeout."""
    content = b""
    for _ in range(2):
        content += response.read(1024 * 1024)
        time.sleep(1.5 * IDLE_S)
    return content + response.read()
