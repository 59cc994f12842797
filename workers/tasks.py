"""The Celery tasks, one statement each. Each task process makes the objects that they need once."""

import fcntl
import functools
import gc
import logging
import os
import signal
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from celery.signals import worker_before_create_process, worker_process_init

from app.ledger.latencies import compute_latencies
from app.ledger.posting import Ledger
from app.observability.alarms import Alarms
from app.observability.disk_alarms import DiskAlarms
from app.observability.missing_check import MissingCheck
from app.observability.raised_alarms import RaisedAlarms
from app.pricing.live_prices import LivePrices
from app.storage.redis.connection import connect
from app.storage.sql.engine import create_engine
from app.storage.sql.partitions import create_months
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.refusal_counts import RefusalCounts
from app.usage.redis.stream import EventStream
from app.vocabulary.errors import Unavailable
from workers.celery_app import celery_app, settings
from workers.consumer import consume
from workers.progress import Progress
from workers.reaper import reap
from workers.refusals import move_refusals

logger = logging.getLogger(__name__)

#: Loaded at import, so that a worker does not start with an invalid price file.
PRICES = LivePrices(settings.prices_file)


@functools.cache
def _stream() -> EventStream:
    # On first use, after the fork: processes must not share connections.
    return EventStream(connect(settings.redis_url, settings.redis_timeout_s))


@functools.cache
def _open_records() -> OpenRecords:
    return OpenRecords(connect(settings.redis_url, settings.redis_timeout_s))


@functools.cache
def _ledger() -> Ledger:
    return Ledger(create_engine(settings.database_url), PRICES.book)


@functools.cache
def _missing_check() -> MissingCheck:
    redis = connect(settings.redis_url, settings.redis_timeout_s)
    return MissingCheck(redis, _ledger().engine, settings.cell, settings.redis_timeout_s)


@functools.cache
def _progress() -> Progress:
    redis = connect(settings.redis_url, settings.redis_timeout_s)
    engine = _ledger().engine
    return Progress(settings.cell, redis, engine)


@functools.cache
def _refusal_counts() -> RefusalCounts:
    return RefusalCounts(connect(settings.redis_url, settings.redis_timeout_s))


@functools.cache
def _alarms() -> Alarms:
    redis = connect(settings.redis_url, settings.redis_timeout_s)
    disk, raised = DiskAlarms(settings.spool_dir), RaisedAlarms(_raised)
    return Alarms(redis, disk, price_fault=lambda: PRICES.fault, raised=raised)


@worker_before_create_process.connect  # type: ignore[untyped-decorator]
def _freeze_gc(**_: object) -> None:
    """Have the task process's garbage collector skip everything that exists by now.

    Searching every module again and again takes a fifth of the time that a task process computes.
    """
    gc.collect()
    gc.freeze()


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _ignore_sigterm(**_: object) -> None:
    """Have this process finish its task on SIGTERM, which platforms send to every process.

    Its parent ends it after the task, and kills it if it hangs.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


@contextmanager
def _skip_if_unavailable() -> Iterator[None]:
    """Log an unavailable service in one line: beat sends the task again, and nothing is lost."""
    try:
        yield
    except Unavailable as exc:
        logger.warning("skipped until the next run: %s", exc)


def _nameless_file(name: str) -> int:
    if hasattr(os, "memfd_create"):  # which needs no directory
        return os.memfd_create(name)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


#: Locked by the one task process of this worker that posts; the lock of a dead process is released.
_posting = _nameless_file("posting")
#: Holds the alarms that a task process of this worker has logged.
_raised = _nameless_file("alarms")


@contextmanager
def _alone() -> Iterator[bool]:
    """Yield whether no other task process of this worker posts."""
    try:
        fcntl.lockf(_posting, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
        return
    try:
        yield True
    finally:
        fcntl.lockf(_posting, fcntl.LOCK_UN)


@celery_app.task(name="usage.post")  # type: ignore[untyped-decorator]
@_skip_if_unavailable()
def post_events() -> None:
    """Post the events of the stream, unless another process of this worker does so.

    A slow database then holds up one task process; the other one runs the other tasks.
    """
    with _alone() as alone:
        if alone:
            PRICES.refresh()  # between two runs, so that a batch is priced by one version
            consume(_stream(), _ledger(), consumer=f"{socket.gethostname()}:{os.getpid()}")
            _progress().record()


@celery_app.task(name="usage.reap")  # type: ignore[untyped-decorator]
@_skip_if_unavailable()
def reap_open_records() -> None:
    """Publish events for the open requests of crashed processes."""
    PRICES.refresh()
    reap(_open_records(), prices=PRICES.book)


@celery_app.task(name="usage.check_numbers")  # type: ignore[untyped-decorator]
@_skip_if_unavailable()
def check_numbers() -> None:
    """Tell the web processes which requests the ledger has, and which are missing."""
    _missing_check().find(time.time_ns() // 1_000_000)


@celery_app.task(name="usage.forget_idle_consumers")  # type: ignore[untyped-decorator]
@_skip_if_unavailable()
def forget_idle_consumers() -> None:
    """Delete the consumer names of worker processes that have exited."""
    _stream().forget_idle_consumers()


@celery_app.task(name="usage.create_partitions")  # type: ignore[untyped-decorator]
@_skip_if_unavailable()
def create_partitions() -> None:
    """Create the partitions of the coming months, which are needed in months at the earliest."""
    create_months(_ledger().engine, time.time())


@celery_app.task(name="usage.post_refusals")  # type: ignore[untyped-decorator]
@_skip_if_unavailable()
def post_refused_requests() -> None:
    """Post the counts of refused requests."""
    move_refusals(_refusal_counts(), _ledger().engine)


@celery_app.task(name="usage.compute_latencies")  # type: ignore[untyped-decorator]
@_skip_if_unavailable()
def compute_ended_hours() -> None:
    """Compute how requests of the past hours ended, and how long they took."""
    compute_latencies(_ledger().engine, time.time())


@celery_app.task(name="usage.alarms")  # type: ignore[untyped-decorator]
def check_alarms() -> None:
    """Log conditions that need attention, once when they are raised and once when they clear."""
    PRICES.refresh()
    _alarms().check()
