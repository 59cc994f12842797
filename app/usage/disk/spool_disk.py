"""The disk under a spool: how much of it is free, and how much an outage of Redis may need."""

import os
from pathlib import Path

#: Free space below which an alarm is raised, in bytes. An outage of an hour at 100 requests per
#: second takes 720 MB: the open record and the event of a request are some 2 KB together.
ENOUGH_BYTES = 1024 * 1024 * 1024


def free_bytes(directory: Path) -> int | None:
    """Return how much this user can still write to the disk of a directory; None if unknown.

    The directory need not exist yet.
    """
    for path in (directory, *directory.absolute().parents):
        try:
            disk = os.statvfs(path)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        return disk.f_bavail * disk.f_frsize
    return None
