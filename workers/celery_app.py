"""The Celery application: `celery --app workers.celery_app worker` and `… beat`.

Knows how tasks are sent and run; `workers.tasks` knows which.
"""

import logging
import runpy
from typing import Any

from celery import Celery
from celery.beat import ScheduleEntry, Scheduler, SchedulingError
from celery.signals import after_setup_logger, beat_init, worker_init
from redis import ResponseError

from app.settings import CONFIG_DIR, ConfigError, Settings
from app.storage.redis.cluster import reject_cluster
from app.storage.redis.connection import connect
from workers.broker import broker_of

#: Tasks that may wait before beat stops sending more. If no worker ran, a day of them would take
#: 88 MB of Redis.
WAITING_LIMIT = 5

#: A key that never exists, so that deleting it changes nothing.
NOTHING = "nothing"

logger = logging.getLogger(__name__)


def create_celery(settings: Settings) -> Celery:
    """Return an application that sends tasks through the Redis of `settings`."""
    broker = broker_of(settings.redis_url, settings.redis_timeout_s)
    celery = Celery("tollgate", broker=broker.url, include=["workers.tasks"])
    names = runpy.run_path(str(CONFIG_DIR / "celeryconfig.py"))
    options = {name: value for name, value in names.items() if not name.startswith("_")}
    options["broker_transport_options"] |= broker.transport_options
    celery.conf.update(options, broker_use_ssl=broker.tls)
    return celery


settings = Settings.from_env()
celery_app = create_celery(settings)


@worker_init.connect  # type: ignore[untyped-decorator]
@beat_init.connect  # type: ignore[untyped-decorator]
def _reject_cluster(**_: Any) -> None:
    """Exit if Redis is a cluster: Celery would try it for ever."""
    with connect(settings.redis_url, settings.redis_timeout_s) as redis:
        try:
            reject_cluster(redis)
        except ConfigError as exc:
            raise SystemExit(str(exc)) from None


class BoundedScheduler(Scheduler):  # type: ignore[misc]
    """Beat's scheduler in memory; it sends nothing while enough tasks wait."""

    def apply_async(self, entry: ScheduleEntry, *args: Any, **kwargs: Any) -> Any:
        """Send the entry's task; return its result, or None if it was not sent.

        If the broker rejects the task, it runs here: Redis may be full of events, and only posting
        them makes room.
        """
        if self._enough_wait():
            return None
        try:
            return super().apply_async(entry, *args, **kwargs)
        except SchedulingError:
            logger.warning("the broker rejects %s; it runs in beat", entry.task)
            return self.app.tasks[entry.task]()

    def _enough_wait(self) -> bool:
        """Return whether enough tasks wait; False if a former primary of Redis answers.

        A former primary rejects the write that comes first. Sending then finds the present one.
        """
        client = self.producer.channel.client
        try:
            client.delete(NOTHING)
            return int(client.llen(self.app.conf.task_default_queue)) >= WAITING_LIMIT
        except ResponseError:
            return False


def first_line_only(record: logging.LogRecord) -> bool:
    """Truncate a log record to its first line, without its traceback."""
    record.msg, record.args = record.getMessage().partition("\n")[0], None
    record.exc_info = record.exc_text = None
    return True


@after_setup_logger.connect  # type: ignore[untyped-decorator]
def _quiet_the_clock(**_: Any) -> None:
    """Keep what happens every second out of the log; the consumer logs each run that posted."""
    for name in ("celery.beat", "celery.app.trace", "celery.worker.strategy"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # While the broker is down, beat would log some hundred lines a second.
    logging.getLogger("celery.beat").addFilter(first_line_only)
