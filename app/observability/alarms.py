"""Alarms: what of the recorder wants a person, before usage is late or lost.

Looks at Redis and at the spool of this machine; knows nothing of who asks, nor of HTTP.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from redis import Redis, ResponseError

from app.storage.redis.errors import redis_errors
from app.storage.redis.keys import DEAD, EVENTS
from app.storage.redis.primary import NotPrimary
from app.usage.redis.stream import write_probe
from app.usage.spool import foreign_files, spool_fault, spooled_bytes
from app.vocabulary.errors import StreamUnavailable

#: An event is in the ledger about a second after its answer. Older or more than this is an alarm.
LATE_S = 60.0
MANY_EVENTS = 100_000

#: Of the memory that Redis may use; what it refuses after that goes to the spool.
FULL = 0.9

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AlarmReport:
    """What was found. `alarms`: a stable name -> what it means and what to do.

    `redis_is_up` says that Redis takes writes. Where it does not answer, its figures are None.
    """

    alarms: Mapping[str, str]
    redis_is_up: bool
    spool_bytes: int
    spool_is_usable: bool = True
    backlog: int | None = None
    oldest_event_age_s: float | None = None
    dead: int | None = None


class Alarms:
    """Looks, and logs each alarm when it is raised and when it is over.

    `spools` says that this process writes to the spool itself.
    """

    def __init__(self, redis: "Redis", spool_directory: Path, *, spools: bool = False) -> None:
        self._redis = redis
        self._spool_directory = spool_directory
        self._spools = spools
        self._raised: Mapping[str, str] = {}
        #: Whether Redis has ever answered: until then, the address may be wrong.
        self.redis_was_up = False

    def check(self) -> AlarmReport:
        """Return what there is now. Never raises: an alarm is an answer."""
        report = self._redis_report()
        spool_bytes, alarms = self._spool_alarms()
        report = replace(
            report,
            alarms={**alarms, **report.alarms},
            spool_bytes=spool_bytes,
            spool_is_usable="spool_unusable" not in alarms,
        )
        self._tell(report.alarms)
        return report

    def _spool_alarms(self) -> tuple[int, dict[str, str]]:
        """Return how many bytes wait in the spool, and what is wrong with it."""
        size, directory, alarms = spooled_bytes(self._spool_directory), self._spool_directory, {}
        if size:
            alarms["spool"] = f"{size} bytes of usage wait in the spool of this machine for Redis."
        if foreign := foreign_files(directory):
            alarms["spool_foreign"] = (
                f"{foreign} files in {directory} hold usage and are another user's: give them to"
                " the user of the web processes."
            )
        if self._spools and (fault := spool_fault(directory)):
            alarms["spool_unusable"] = (
                f"Nothing can be written to {directory} ({fault}): without Redis, requests are"
                " refused. Set TOLLGATE_SPOOL_DIR to a directory that the web processes may write."
            )
        return size, alarms

    def _redis_report(self) -> AlarmReport:
        try:
            with redis_errors():
                refusal = _refusal(self._redis)
                return self._report(refusal)
        except StreamUnavailable as exc:
            alarms = {"redis": f"{exc.message}; usage goes to the spool, or requests are refused."}
            return AlarmReport(alarms, False, 0)

    def _report(self, refusal: ResponseError | None) -> AlarmReport:
        # A replica may be the wrong server, and a full one is the right one.
        self.redis_was_up = self.redis_was_up or not isinstance(refusal, NotPrimary)
        with self._redis.pipeline(transaction=False) as pipe:
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
            **_refusal_alarm(refusal),
            **_backlog_alarms(backlog, age_s, dead),
            **_server_alarms({} if isinstance(about, ResponseError) else about),
        }
        return AlarmReport(
            alarms, refusal is None, 0, backlog=backlog, oldest_event_age_s=age_s, dead=dead
        )

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


def _refusal(redis: "Redis") -> ResponseError | None:
    """Return what Redis says against a write; None where it takes it."""
    try:
        write_probe(redis)
    except ResponseError as exc:
        return exc
    return None


def _refusal_alarm(refusal: ResponseError | None) -> dict[str, str]:
    if refusal is None:
        return {}
    kind = refusal.status_code or type(refusal).__name__
    return {
        "redis": f"Redis answers and takes no write ({kind}); usage goes to the spool, or requests"
        " are refused. See that REDIS_URL leads to the primary, and that it has room."
    }


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
