"""The tasks, of one statement each; what they need is made once in each task process."""

import fcntl
import functools
import gc
import logging
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from celery.signals import worker_before_create_process, worker_process_init

from app.ledger.posting import Ledger
from app.observability.alarms import Alarms
from app.pricing.price_book import load_prices
from app.storage.sql.database import create_engine
from app.usage.redis.open_records import OpenRecords
from app.usage.redis.stream import EventStream, connect
from app.vocabulary.errors import Unavailable
from workers.celery_app import celery_app, settings
from workers.consumer import drain
from workers.reaper import reap

logger = logging.getLogger(__name__)

#: Read at the start, so that a worker does not start with a price file of no use.
PRICES = load_prices(settings.prices_file)


@functools.cache
def _stream() -> EventStream:
    # Made on first use, so after the fork: connections must not be shared between processes.
    return EventStream(connect(settings.redis_url, settings.redis_timeout_s))


@functools.cache
def _open_records() -> OpenRecords:
    return OpenRecords(connect(settings.redis_url, settings.redis_timeout_s))


@functools.cache
def _ledger() -> Ledger:
    return Ledger(create_engine(settings.database_url), PRICES)


@functools.cache
def _alarms() -> Alarms:
    return Alarms(connect(settings.redis_url, settings.redis_timeout_s), settings.spool_dir)


@worker_before_create_process.connect  # type: ignore[untyped-decorator]
def _freeze_gc(**_: object) -> None:
    """Have the task process' collector pass over all that there is by now.

    To look through every module again and again takes a fifth of a drain's processor time.
    """
    gc.collect()
    gc.freeze()


@worker_process_init.connect  # type: ignore[untyped-decorator]
def _ignore_sigterm(**_: object) -> None:
    """Have this process finish its task at a SIGTERM, which platforms send to every process.

    The worker ends it once that is done, and kills it where it hangs.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


@contextmanager
def _skip_if_unavailable() -> Iterator[None]:
    """Say in one line that a service is away: beat asks again, and nothing is lost meanwhile."""
    try:
        yield
    except Unavailable as exc:
        logger.warning("left for the next time: %s", exc)


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):  # which needs no directory
        return os.memfd_create("draining")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


#: Locked by the one task process of this worker that drains; a dead process' lock is gone.
_draining = _nameless_file()


@contextmanager
def _alone() -> Iterator[bool]:
    """Yield whether this task process is the one that drains."""
    try:
        fcntl.lockf(_draining, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
        return
    try:
        yield True
    finally:
        fcntl.lockf(_draining, fcntl.LOCK_UN)


@celery_app.task(name="usage.post")  # type: ignore[untyped-decorator]
@_skip_if_unavailable()
def post_events() -> None:
    """Post what waits in the stream, unless another process of this worker is at it.

    So a slow database holds up one task process, and the other tasks have the rest.
    """
    with _alone() as alone:
        if alone:
            drain(_stream(), _ledger(), consumer=f"{socket.gethostname()}:{os.getpid()}")


@celery_app.task(name="usage.reap")  # type: ignore[untyped-decorator]
@_skip_if_unavailable()
def reap_open_records() -> None:
    """Post the requests of processes that died."""
    reap(_open_records(), prices=PRICES)


@celery_app.task(name="usage.forget_idle_consumers")  # type: ignore[untyped-decorator]
@_skip_if_unavailable()
def forget_idle_consumers() -> None:
    """Drop the names of worker processes that are gone."""
    _stream().forget_idle_consumers()


@celery_app.task(name="usage.alarms")  # type: ignore[untyped-decorator]
def check_alarms() -> None:
    """Log what wants a person, once."""
    _alarms().check()
