"""Runs a check in a child process, so that the parent keeps nothing of what it imports."""

import logging
import os
import sys
from collections.abc import Callable

log = logging.getLogger(__name__)


def passes_in_child(check: Callable[[], object]) -> bool:
    """Run `check` in a forked process; return whether it ended without an exception.

    gunicorn's master must not import the application: after `kill -HUP`, new workers would run the
    modules that it had imported, and not those on the disk. And a thread that waits for a service
    which hangs must not be there when a process forks.
    """
    child = os.fork()
    if child == 0:  # pragma: no cover  # it runs in the child
        os._exit(_exit_code(check))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def _exit_code(check: Callable[[], object]) -> int:
    try:
        check()
    except SystemExit:  # which has been logged
        return 1
    except Exception:
        log.exception("the check of the configuration failed")
        return 1
    finally:
        sys.stderr.flush()
    return 0
