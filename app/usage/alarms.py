"""Alarms: what of the accounting wants a person, before usage is late or lost.

Looks at Redis and at the spool of this machine; knows nothing of who asks, nor of HTTP.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redis import Redis, ResponseError

from app.errors import StreamUnavailable
from app.usage.keys import DEAD, EVENTS
from app.usage.redis_errors import redis_errors
from app.usage.spool import spooled_bytes

#: An event is in the ledger about a second after its answer. Older or more than this is an alarm.
LATE_S = 60.0
MANY_EVENTS = 100_000

#: Of the memory that Redis may use; what it refuses after that goes to the spool.
FULL = 0.9

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Report:
    """What was found. `alarms`: a stable name -> what it means and what to do.

    Without Redis its figures are None.
    """

    alarms: Mapping[str, str]
    redis_is_up: bool
    spool_bytes: int
    backlog: int | None = None
    oldest_event_age_s: float | None = None
    dead: int | None = None


class Alarms:
    """Looks, and logs each alarm when it is raised and when it is over."""

    def __init__(self, redis: "Redis", spool_directory: Path) -> None:
        self._redis = redis
        self._spool_directory = spool_directory
        self._raised: Mapping[str, str] = {}
        #: Whether Redis has ever answered: until then, the address may be wrong.
        self.redis_was_up = False

    def check(self) -> Report:
        """Return what there is now. Never raises: an alarm is an answer."""
        spool_bytes = spooled_bytes(self._spool_directory)
        try:
            report = self._report(spool_bytes)
        except StreamUnavailable as exc:
            alarms = {"redis": f"{exc.message}; usage goes to the spool, or requests are refused."}
            report = Report({**alarms, **_spool_alarm(spool_bytes)}, False, spool_bytes)
        else:
            self.redis_was_up = True
        self._tell(report.alarms)
        return report

    def _report(self, spool_bytes: int) -> Report:
        with redis_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.xlen(EVENTS)
            pipe.xrange(EVENTS, count=1)
            pipe.xlen(DEAD)
            pipe.info()
            now, backlog, first, dead, about = pipe.execute(raise_on_error=False)
            _raise_first(now, backlog, first, dead)
        age_s = 0.0
        if first:
            age_s = max(0.0, now[0] + now[1] / 1e6 - int(first[0][0].partition(b"-")[0]) / 1e3)
        alarms = {
            **_spool_alarm(spool_bytes),
            **_backlog_alarms(backlog, age_s, dead),
            **_server_alarms({} if isinstance(about, ResponseError) else about),
        }
        return Report(alarms, True, spool_bytes, backlog, age_s, dead)

    def _tell(self, alarms: Mapping[str, str]) -> None:
        for name in alarms.keys() - self._raised.keys():
            log.warning("alarm %s: %s", name, alarms[name])
        for name in self._raised.keys() - alarms.keys():
            log.info("alarm %s is over", name)
        self._raised = alarms


def _raise_first(*answers: Any) -> None:
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer


def _spool_alarm(size: int) -> dict[str, str]:
    if not size:
        return {}
    return {"spool": f"{size} bytes of usage wait in the spool of this machine for Redis."}


def _backlog_alarms(backlog: int, age_s: float, dead: int) -> dict[str, str]:
    alarms = {}
    if age_s > LATE_S or backlog > MANY_EVENTS:
        alarms["backlog"] = (
            f"{backlog} events wait for the ledger, the oldest for {age_s:.0f} s:"
            " see whether a worker and beat run, and whether the database answers."
        )
    if dead:
        alarms["dead"] = f"{dead} events could not be posted: see `tollgate dead list`."
    return alarms


def _server_alarms(about: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with how Redis is set up, as far as it says."""
    alarms = {}
    if about.get("aof_enabled") == 0:
        alarms["redis_persistence"] = (
            "Redis keeps no append-only file: usage is lost when it ends. Set `appendonly yes`."
        )
    elif about.get("aof_last_write_status", "ok") != "ok":
        alarms["redis_persistence"] = "Redis cannot write its append-only file: see its log."
    limit = about.get("maxmemory", 0)
    policy = about.get("maxmemory_policy", "noeviction")
    if limit and policy != "noeviction":
        alarms["redis_eviction"] = (
            f"Redis may evict usage when it is full ({policy}). Set `maxmemory-policy noeviction`."
        )
    if limit and about.get("used_memory", 0) > FULL * limit:
        alarms["redis_memory"] = "Redis is almost full; what it refuses goes to the spool."
    return alarms
