"""A real web process under gunicorn: odd ends of streams, slow callers, and a crash."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from redis import Redis

from app.settings import Settings
from app.storage.redis.keys import EVENTS, OPEN
from app.usage.redis.open_records import OpenRecords
from tests.contract.answers.parts import Counts, Part, Wire
from tests.contract.answers.site import (
    IDLE_S,
    SOON_S,
    TEXT,
    TEXT_TOKENS,
    Site,
    Told,
    books,
    read,
    table,
)
from tests.contract.answers.wires import WIRES
from tests.support.gateway import gunicorn, with_account
from tests.support.services.polling import wait_until
from tests.support.services.sqlite import new_ledger
from tests.support.services.valkey import Valkey
from tests.support.vendor import CUT, SimulatedVendor
from workers.reaper import reap

EARLY = Counts(2010, TEXT_TOKENS, 2000)


@pytest.fixture
def web(
    request: pytest.FixtureRequest, tmp_path: Path, valkey: Valkey
) -> Iterator[tuple[Site, int]]:
    """A web process under gunicorn, and its master's pid; a parameter is its vendors' `idle_s`."""
    with Redis.from_url(valkey.url) as redis:
        redis.flushall()
    with contextlib.ExitStack() as stack:
        vendor = SimulatedVendor()
        stack.callback(vendor.stop)
        path = tmp_path / "vendors.toml"
        path.write_text(table(vendor.url, idle_s=getattr(request, "param", IDLE_S)))
        ledger = new_ledger(tmp_path / "ledger.db")
        env = {
            "REDIS_URL": valkey.url,
            "DATABASE_URL": ledger,
            "TOLLGATE_VENDORS": str(path),
            "TOLLGATE_SPOOL_DIR": str(tmp_path / "spool"),
            "ANSWERS_KEY": "sk-test-key",
            "AWS_REGION": "us-east-1",
            "TOLLGATE_GRACE_S": "1",
        }
        url, pid = stack.enter_context(gunicorn(env, tmp_path / "web.log"))
        settings = Settings(redis_url=valkey.url, database_url=ledger)
        yield Site(stack.enter_context(with_account(url, settings)), vendor), pid


def begun(wire: Wire) -> bytes:
    """Return the beginning of a stream, with its usage so far."""
    usage = wire.usage(EARLY)
    if wire is WIRES["anthropic"]:
        return wire.opening(usage) + wire.event(Part(TEXT))
    return wire.event(Part(TEXT), usage=usage)


@pytest.mark.parametrize("name", ["anthropic", "gemini"])
def test_a_killed_process_leaves_what_the_vendor_had_counted(
    web: tuple[Site, int], name: str
) -> None:
    (site, pid), wire = web, WIRES[name]
    site.says(wire.stream(begun(wire), threading.Event()))
    redis = site.gateway.redis
    with site.open(wire, stream=True) as caller:
        caller.read_until(b"gamma")
        # the record is brought up to date now and then
        wait_until(lambda: any(b"2010" in raw for raw in redis.hvals(OPEN)))
        for process in [pid, *_workers(pid)]:  # the master first, or it makes another
            os.kill(process, signal.SIGKILL)
        wait_until(lambda: site.vendor.hang_ups)
    for key in redis.keys("usage:owner:*"):
        redis.delete(key)  # as they expire by themselves
    assert reap(OpenRecords(redis), now_ms=time.time_ns() // 1_000_000 + 60_000) == 1
    event = site.event()
    assert books(event)[:4] == ("abandoned", 2010, TEXT_TOKENS, "vendor")
    assert event.cached_tokens == 2000
    assert event.completion_source in ("estimated", "vendor")
    assert redis.xlen(EVENTS) == 1


def test_a_process_that_is_told_to_leave_counts_what_the_vendor_had_counted(
    web: tuple[Site, int],
) -> None:
    (site, pid), wire = web, WIRES["anthropic"]
    site.says(wire.stream(begun(wire), threading.Event()))
    with site.open(wire, stream=True) as caller:
        caller.read_until(b"gamma")
        os.kill(pid, signal.SIGTERM)
        event = site.event()
    assert event.prompt_source == "vendor"
    assert (event.prompt_tokens, event.cached_tokens) == (2010, 2000)
    assert (event.completion_tokens, event.completion_source) == (TEXT_TOKENS, "estimated")


def _workers(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def test_a_real_process_ends_a_stream_at_its_end_mark(web: tuple[Site, int]) -> None:
    site, _ = web
    for name in ("text", "anthropic", "chat"):
        site.clear()
        wire, usage = WIRES[name], WIRES[name].usage(Counts(20, 7))
        end = wire.event(Part("", wire.stop), usage=usage)
        for after in (threading.Event(), CUT):
            site.clear()
            steps = [wire.opening(usage), wire.event(Part(TEXT)), end, wire.mark]
            site.says(wire.stream(*steps, site.ends, after))
            told = site.ask(wire, stream=True)
            assert told.is_whole(), told
            assert told.ended_s - site.ended_s < SOON_S
            assert books(site.event()) == ("completed", 20, 7, "vendor", "vendor")


@pytest.mark.parametrize("web", [1.0], indirect=True)
def test_slow_callers_of_a_real_process_blame_no_vendor(web: tuple[Site, int]) -> None:
    """They pause for longer than a vendor may, before they read and in the middle."""
    (site, _), wire = web, WIRES["text"]
    piece, pieces, callers = "word " * 13_000, 100, 6
    site.window = 64 * 1024
    usage = wire.usage(Counts(20, 7))
    end = wire.event(Part("", "stop"), usage=usage)
    events = [wire.event(Part(piece))] * pieces
    site.always(lambda _: wire.stream(*events, end, wire.mark))

    def sleepy() -> Told:
        with site.open(wire, stream=True) as caller:
            time.sleep(2.5)
            begun = caller.response.read(1024 * 1024)
            time.sleep(2.5)
            told = read(caller.response, stream=True, begun=begun)
        return told

    with ThreadPoolExecutor(callers) as pool:
        told = [future.result() for future in [pool.submit(sleepy) for _ in range(callers)]]
    assert all(one.is_whole() and len(one.texts[0]) == len(piece) * pieces for one in told)
    events_recorded = site.gateway.events(callers)
    assert [event.status for event in events_recorded] == ["completed"] * callers
    assert {(e.prompt_tokens, e.completion_tokens) for e in events_recorded} == {(20, 7)}
    assert not site.is_blamed()


def test_a_real_process_counts_a_caller_that_leaves_as_the_vendor_did(
    web: tuple[Site, int],
) -> None:
    site, _ = web
    wire = WIRES["anthropic"]
    site.says(wire.stream(begun(wire), threading.Event()))
    with site.open(wire, stream=True) as caller:
        caller.read_until(b"gamma")
    wait_until(lambda: site.vendor.hang_ups)
    event = site.event()
    assert books(event) == ("disconnected", 2010, TEXT_TOKENS, "vendor", "estimated")
    assert event.cached_tokens == 2000
