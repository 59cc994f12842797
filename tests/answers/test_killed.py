"""A real web process that is killed in a stream: the reaper knows what the vendor counted."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from app.settings import Settings
from app.usage.keys import EVENTS, OPEN
from app.usage.open_records import OpenRecords
from tests.answers.site import SOON_S, TEXT, TEXT_TOKENS, Site, books, table
from tests.answers.wires import WIRES, Counts, Part, Wire
from tests.gateway import gunicorn, with_account
from tests.services.polling import wait_until
from tests.services.sqlite import new_ledger
from tests.services.valkey import Valkey
from tests.vendor import CUT, SimulatedVendor
from workers.reap import reap

EARLY = Counts(2010, TEXT_TOKENS, 2000)


@pytest.fixture
def web(tmp_path: Path, valkey: Valkey) -> Iterator[tuple[Site, int]]:
    """A web process under gunicorn, and its master's pid."""
    with Redis.from_url(valkey.url) as redis:
        redis.flushall()
    with contextlib.ExitStack() as stack:
        vendor = SimulatedVendor()
        stack.callback(vendor.stop)
        path = tmp_path / "vendors.toml"
        path.write_text(table(vendor.url))
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
    """Return a stream that has begun, with what it has cost so far."""
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
