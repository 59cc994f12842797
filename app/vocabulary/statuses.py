"""How a request can end: its status, and which statuses count as failed. One definition for all.

Rollups, reports, the dashboard, metrics and traces use it.
"""

from typing import Literal, get_args

Status = Literal["completed", "failed", "disconnected", "truncated", "abandoned"]

STATUSES: frozenset[str] = frozenset(get_args(Status))

#: The caller got an error, or a response that broke off. Not `disconnected`: that client left. Not
#: `abandoned`: how that request ended is not known, and its entry stands until the true event
#: replaces it. Not an unknown status of a later version.
FAILED_STATUSES: frozenset[str] = frozenset({"failed", "truncated"})

#: What the version before counted as failed. Rollups that it wrote have only these.
FORMER_FAILED_STATUSES: frozenset[str] = frozenset({"failed"})
