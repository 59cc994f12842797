"""The directory in which the web processes of one master share their counts.

The master creates it before its processes start, and holds a lock on it. A directory without a lock
belongs to a master that was killed, and the next master removes it. Must not import
prometheus_client, which reads VARIABLE when it is imported.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

#: The environment variable in which prometheus_client expects the directory.
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

PREFIX = "tollgate-metrics-"


def make(parent: str | None) -> str:
    """Create a directory in `parent`, by default the one for temporary files; return its path.

    It stays locked until this process and all processes that it forks have exited.
    """
    _sweep(Path(parent or tempfile.gettempdir()))
    new = Path(tempfile.mkdtemp(prefix="tollgate-new-", dir=parent))
    fcntl.flock(os.open(new, os.O_RDONLY), fcntl.LOCK_EX)  # left open on purpose
    # Renamed after locking, so that a sweep never finds it without a lock.
    return str(new.rename(new.with_name(new.name.replace("tollgate-new-", PREFIX))))


def remove() -> None:
    """Remove the directory in VARIABLE, if it is set."""
    if path := os.environ.get(VARIABLE):
        shutil.rmtree(path, ignore_errors=True)


def _sweep(parent: Path) -> None:
    for path in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, locked, or removed already
            lock = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path)
            finally:
                os.close(lock)
