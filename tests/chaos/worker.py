"""The Celery worker and beat with their traps: `celery --app tests.chaos.worker worker`."""

import datetime
import functools
import os
from typing import Any

from app.ledger.posting import Ledger
from app.storage.redis.connection import connect
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream
from tests.chaos.haste import HASTE, hasten_owners
from tests.chaos.traps import after, before, set_clock_back
from workers import reaper, tasks
from workers.celery_app import celery_app as app
from workers.celery_app import settings

CLAIM_IDLE_MS = int(10_000 / HASTE)


@functools.cache
def hasty_stream() -> EventStream:
    """Return the stream; its entries are claimable from dead consumers earlier."""
    return EventStream(
        connect(settings.redis_url, settings.redis_timeout_s), claim_idle_ms=CLAIM_IDLE_MS
    )


def hasten() -> None:
    """Shorten the waiting times."""
    hasten_owners()
    tasks._stream = hasty_stream
    reaper.YOUNG_MS = int(reaper.YOUNG_MS / HASTE)
    for name in ("reap", "numbers"):
        app.conf.beat_schedule[name]["schedule"] /= HASTE


def set_celerys_clock_back(seconds: float) -> None:
    """Set the clock of Celery back, too, which reads it differently."""
    now = app.now

    def early() -> Any:
        return now() - datetime.timedelta(seconds=seconds)

    app.now = early


hasten()
before(Ledger, "post", "between claim and commit")
before(EventStream, "ack", "between commit and ack")
after(EventStream, "ack", "after the ack")
after(OpenRecords, "abandon", "after a reaped event")
if slow_s := float(os.environ.get("CHAOS_CLOCK_BACK_S", "0")):
    set_clock_back(slow_s)
    set_celerys_clock_back(slow_s)
