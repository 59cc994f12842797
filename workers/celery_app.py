"""The Celery application: `celery -A workers.celery_app worker`, `celery -A workers.celery_app
beat`.

Knows how tasks are sent and run; `workers.tasks` knows which.
"""

import logging
import runpy
from typing import Any

from celery import Celery
from celery.beat import ScheduleEntry, Scheduler, SchedulingError
from celery.signals import after_setup_logger
from redis import ResponseError
from redis.connection import parse_url

from app.settings import CONFIG_DIR, Settings

#: Tasks that beat lets wait. With no worker there, a day of them would take 88 MB of Redis.
WAITING_LIMIT = 5

#: A key that is never there; to delete it changes nothing.
NOTHING = "nothing"

logger = logging.getLogger(__name__)

settings = Settings.from_env()


def broker_tls(redis_url: str) -> dict[str, Any] | None:
    """Return Celery's TLS options for a Redis URL, the same that `app.usage.redis.stream.connect`
    takes.

    Celery connects to `rediss://` without TLS unless it is told.
    """
    if not redis_url.startswith("rediss://"):
        return None
    options = parse_url(redis_url).items()  # type: ignore[no-untyped-call]
    return {
        "ssl_cert_reqs": "required",
        **{name: value for name, value in options if name.startswith("ssl_")},
    }


celery_app = Celery("tollgate", broker=settings.redis_url, include=["workers.tasks"])
celery_app.conf.update(
    {
        name: value
        for name, value in runpy.run_path(str(CONFIG_DIR / "celeryconfig.py")).items()
        if not name.startswith("_")
    },
    broker_use_ssl=broker_tls(settings.redis_url),
)


class BoundedScheduler(Scheduler):  # type: ignore[misc]
    """Beat's scheduler in memory, which sends nothing while enough tasks wait already."""

    def apply_async(self, entry: ScheduleEntry, *args: Any, **kwargs: Any) -> Any:
        """Send the entry's task; return its result, or None when it was not sent.

        One that the broker refuses is run here: Redis may be full of events, which only a drain
        removes.
        """
        if self._enough_wait():
            return None
        try:
            return super().apply_async(entry, *args, **kwargs)
        except SchedulingError:
            logger.warning("the broker refuses %s; it runs in beat", entry.task)
            return self.app.tasks[entry.task]()

    def _enough_wait(self) -> bool:
        """Say whether tasks wait already; not if a former primary of Redis says so.

        It refuses the write that comes first. Sending then finds the present one.
        """
        client = self.producer.channel.client
        try:
            client.delete(NOTHING)
            return int(client.llen(self.app.conf.task_default_queue)) >= WAITING_LIMIT
        except ResponseError:
            return False


def first_line_only(record: logging.LogRecord) -> bool:
    """Cut a log record to its first line, without its traceback."""
    record.msg, record.args = record.getMessage().partition("\n")[0], None
    record.exc_info = record.exc_text = None
    return True


@after_setup_logger.connect  # type: ignore[untyped-decorator]
def _quiet_the_clock(**_: Any) -> None:
    """Keep what happens every second out of the log: a drain that moved something says so."""
    for name in ("celery.beat", "celery.app.trace", "celery.worker.strategy"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # While the broker is away, beat would log some hundred lines a second.
    logging.getLogger("celery.beat").addFilter(first_line_only)
