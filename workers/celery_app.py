"""The Celery application: `celery --app workers.celery_app worker` and `… beat`.

Knows how tasks are sent and run; `workers.tasks` knows which.
"""

import logging
import runpy
from typing import Any

from celery import Celery
from celery.beat import ScheduleEntry, Scheduler, SchedulingError
from celery.signals import import_modules
from redis import ResponseError

from app.settings import CONFIG_DIR, ConfigError, Settings
from app.startup.child import passes_in_child
from app.startup.common import check_worker_start, read_settings
from workers.broker import broker_of
from workers.logs import log_as_web_does

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


#: Without those that are invalid: then no worker or beat starts, see `_check_start`.
settings = read_settings().settings
try:
    celery_app = create_celery(settings)
except ConfigError:  # a URL that cannot be parsed
    check_worker_start()
    raise


@import_modules.connect(sender=celery_app)  # type: ignore[untyped-decorator]
def _check_start(**_: Any) -> None:
    """Exit with one line if a worker or beat cannot start; sent before either does anything.

    Other commands of Celery, as `celery report`, import modules, too.
    """
    if celery_app.loader.worker_initialized:
        if not passes_in_child(check_worker_start):
            raise SystemExit(1)
        log_as_web_does(settings.log_format)


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
