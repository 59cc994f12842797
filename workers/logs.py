"""The log of workers and beat: the same lines as the web process's, Celery's own included."""

import logging
import os
import sys
from typing import Any

from celery.apps import worker as celery_worker
from celery.signals import setup_logging

from app.observability.logs import configure, formatter

logger = logging.getLogger(__name__)

#: What logs something every second; the consumer logs each run that posted.
_QUIET = ("celery.beat", "celery.app.trace", "celery.worker.strategy")


def log_as_web_does(log_format: str | None) -> None:
    """Write all records, Python's warnings, and what Celery prints at its end, in one format.

    Celery then configures nothing, except that `--loglevel` sets the level.
    """

    def set_up(loglevel: int = logging.INFO, **_: Any) -> None:
        configure(log_format)
        logging.captureWarnings(True)
        for name in ("app", "workers", "celery"):
            logging.getLogger(name).setLevel(loglevel)
        for name in _QUIET:
            logging.getLogger(name).setLevel(logging.WARNING)

    def write(message: str, *_: object) -> None:
        # In a signal handler: a handler of `logging` may be in the middle of a line.
        record = logger.makeRecord("celery", logging.INFO, "", 0, message, (), None)
        os.write(sys.stderr.fileno(), f"{lines.format(record)}\n".encode())

    lines = formatter(log_format)
    set_up()
    setup_logging.connect(set_up, weak=False)
    # While the broker is down, beat would log some hundred lines a second.
    logging.getLogger("celery.beat").addFilter(first_line_only)
    celery_worker.safe_say = write


def first_line_only(record: logging.LogRecord) -> bool:
    """Truncate a log record to its first line, without its traceback."""
    record.msg, record.args = record.getMessage().partition("\n")[0], None
    record.exc_info = record.exc_text = None
    return True
