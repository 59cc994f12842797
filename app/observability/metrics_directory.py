"""Where the web processes of one master keep their counts: a directory that no other master has.

The master makes it before any of them starts, and holds a lock on it. One whose lock nobody holds
was left by a master that was killed, and is removed by the next. Imports no metrics: the library
looks for the directory when it is imported.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

#: The library reads it.
VARIABLE = "PROMETHEUS_MULTIPROC_DIR"

PREFIX = "tollgate-metrics-"


def make(parent: str | None) -> str:
    """Make a directory in `parent`, by default the one for temporary files; return its path.

    It is locked as long as this process lives, or one that it forks.
    """
    _sweep(Path(parent or tempfile.gettempdir()))
    new = Path(tempfile.mkdtemp(prefix="tollgate-new-", dir=parent))
    fcntl.flock(os.open(new, os.O_RDONLY), fcntl.LOCK_EX)  # left open on purpose
    # Named only now: a sweep finds no directory that has no lock yet.
    return str(new.rename(new.with_name(new.name.replace("tollgate-new-", PREFIX))))


def remove() -> None:
    """Remove the directory that `make` made, if VARIABLE has it."""
    if path := os.environ.get(VARIABLE):
        shutil.rmtree(path, ignore_errors=True)


def _sweep(parent: Path) -> None:
    for path in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, or held, or gone already
            lock = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path)
            finally:
                os.close(lock)
