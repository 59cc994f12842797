"""Alarms: conditions of Redis and the spool that need attention, before usage is late or lost.

Reads Redis and this host's spool. Does not depend on HTTP.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from redis import Redis, ResponseError

from app.admission.unchecked import RECENT_S, UncheckedRequests
from app.observability.disk_alarms import DiskAlarms
from app.observability.missing_check import settled
from app.observability.raised_alarms import RaisedAlarms
from app.settings import NO_CLUSTER
from app.storage.redis.connection import write_probe
from app.storage.redis.errors import redis_errors
from app.storage.redis.keys import DEAD, EVENTS, MISSING
from app.storage.redis.primary import NotPrimary
from app.usage.missing import Missing, count_missing, decode_search
from app.vocabulary.errors import StreamUnavailable

#: Events usually reach the ledger a second after the response. An older event is an alarm, and so
#: are more events than MANY_EVENTS.
LATE_S = 60.0
MANY_EVENTS = 100_000

#: The share of Redis's memory limit above which an alarm is raised.
FULL = 0.9

_FULL_MESSAGE = (
    "Redis is full (OOM): events go to the spool, or requests are rejected. Limits still apply."
    " Raise `maxmemory`, and check that a worker posts the backlog."
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AlarmReport:
    """The alarms that are raised, and the figures that they are based on.

    `alarms` maps stable names to messages that state the problem and the next step. `redis_is_up`
    means that Redis accepts writes. `backlog` and `dead` count events; they and
    `oldest_event_age_s` are None if Redis is unavailable.
    """

    alarms: Mapping[str, str]
    redis_is_up: bool
    spool_bytes: int
    spool_is_usable: bool = True
    backlog: int | None = None
    oldest_event_age_s: float | None = None
    dead: int | None = None


class Alarms:
    """Checks for alarms, and logs each one when it is raised and when it clears.

    `unchecked` are the requests that this process has served without a check of their limits; by
    default, those that all have reported. `price_fault` says why this process has not taken a
    changed price file. `raised` is what was logged: by default, by this object.
    """

    def __init__(
        self,
        redis: "Redis",
        disk: DiskAlarms,
        *,
        unchecked: UncheckedRequests | None = None,
        price_fault: Callable[[], str | None] = lambda: None,
        raised: RaisedAlarms | None = None,
    ) -> None:
        self._redis = redis
        self._disk = disk
        self._price_fault = price_fault
        self._unchecked = unchecked or UncheckedRequests(redis)
        self._raised = raised or RaisedAlarms()
        #: Whether a primary Redis has ever responded; until then, REDIS_URL may be wrong.
        self.redis_was_up = False

    def check(self) -> AlarmReport:
        """Return the current alarms; if Redis is unavailable, that is one of them."""
        report = self._redis_report()
        spool_bytes, alarms = self._disk.check()
        unlimited = _unlimited_alarm(self._unchecked.recent())
        report = replace(
            report,
            alarms={**alarms, **report.alarms, **unlimited, **_price_alarm(self._price_fault())},
            spool_bytes=spool_bytes,
            spool_is_usable="spool_unusable" not in alarms,
        )
        self._log_changes(report.alarms)
        return report

    def _redis_report(self) -> AlarmReport:
        try:
            with redis_errors():
                error = _write_error(self._redis)
                return self._report(error)
        except StreamUnavailable as exc:
            alarms = {"redis": f"{exc.message}; usage goes to the spool, or requests are rejected."}
            return AlarmReport(alarms, False, 0)

    def _report(self, error: ResponseError | None) -> AlarmReport:
        # A replica may be the wrong server. A primary that is full is the right one.
        self.redis_was_up = self.redis_was_up or not isinstance(error, NotPrimary)
        with self._redis.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.xlen(EVENTS)
            pipe.xrange(EVENTS, count=1)
            pipe.xlen(DEAD)
            pipe.get(MISSING)
            pipe.info()
            now, backlog, first, dead, missing, info = pipe.execute(raise_on_error=False)
            _raise_errors(now, backlog, first, dead, missing)
        age_s = 0.0
        if first:
            age_s = max(0.0, now[0] + now[1] / 1e6 - int(first[0][0].partition(b"-")[0]) / 1e3)
        alarms = {
            **_write_alarm(error),
            **_backlog_alarms(backlog, age_s, dead),
            **_missing_alarm(settled(decode_search(missing), int(now[0] * 1000))),
            **server_alarms({} if isinstance(info, ResponseError) else info),
        }
        return AlarmReport(
            alarms, error is None, 0, backlog=backlog, oldest_event_age_s=age_s, dead=dead
        )

    def _log_changes(self, alarms: Mapping[str, str]) -> None:
        new, cleared = self._raised.replace(alarms)
        for name in new:
            log.warning("alarm %s: %s", name, alarms[name])
        for name in cleared:
            log.info("alarm %s has cleared", name)


def _unlimited_alarm(recent: Mapping[str, int]) -> dict[str, str]:
    if not recent:
        return {}
    reasons = ", ".join(f"{reason}: {number}" for reason, number in sorted(recent.items()))
    return {
        "unlimited": (
            f"{sum(recent.values())} requests were served without a check of their limits"
            f" ({reasons}). The alarm clears {RECENT_S // 60} minutes after the last of them."
        )
    }


def _price_alarm(fault: str | None) -> dict[str, str]:
    if fault is None:
        return {}
    return {
        "prices": f"The price file is invalid, so requests have the prices of before: {fault}."
        " Correct the file; no restart is needed."
    }


def _raise_errors(*replies: Any) -> None:
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply


def _write_error(redis: "Redis") -> ResponseError | None:
    """Return the error with which Redis rejects a write; None if it accepts writes."""
    try:
        write_probe(redis)
    except ResponseError as exc:
        return exc
    return None


def _write_alarm(error: ResponseError | None) -> dict[str, str]:
    if error is None:
        return {}
    kind = error.status_code or type(error).__name__
    if kind == "OOM":
        return {"redis": _FULL_MESSAGE}
    return {
        "redis": f"Redis rejects writes ({kind}); usage goes to the spool, or requests are"
        " rejected. Check that REDIS_URL is the primary, and that it has free memory."
    }


def _backlog_alarms(backlog: int, age_s: float, dead: int) -> dict[str, str]:
    alarms = {}
    if age_s > LATE_S or backlog > MANY_EVENTS:
        alarms["backlog"] = (
            f"{backlog} events wait for the ledger, the oldest for {age_s:.0f} s. Check that a"
            " worker and beat are running, and that the database is available."
        )
    if dead:
        alarms["dead"] = f"{dead} events could not be posted. List them with `tollgate dead list`."
    return alarms


def _missing_alarm(missing: Sequence[Missing]) -> dict[str, str]:
    if not missing:
        return {}
    names = ", ".join(sorted({it.process for it in missing})[:3])
    since = datetime.fromtimestamp(min(it.from_ms for it in missing) / 1000, UTC)
    return {
        "missing": f"The usage of {count_missing(missing)} requests is missing since"
        f" {since:%Y-%m-%d %H:%M} UTC ({names}). See `tollgate reconcile`."
    }


def server_alarms(info: Mapping[str, Any]) -> dict[str, str]:
    """Return the alarms about Redis's configuration and memory; {} if INFO is not permitted."""
    alarms = {}
    if info.get("cluster_enabled") == 1:
        alarms["redis_cluster"] = f"REDIS_URL leads to a cluster: {NO_CLUSTER}"
    if info.get("aof_enabled") == 0:
        alarms["redis_persistence"] = (
            "Redis has no append-only file: a restart loses usage. Set `appendonly yes`."
        )
    elif info.get("aof_last_write_status", "ok") != "ok":
        alarms["redis_persistence"] = "Redis cannot write its append-only file. See its log."
    limit = info.get("maxmemory", 0)
    policy = info.get("maxmemory_policy", "noeviction")
    if limit and policy != "noeviction":
        alarms["redis_eviction"] = (
            f"Redis evicts usage when it is full ({policy}). Set `maxmemory-policy noeviction`."
        )
    if limit and info.get("used_memory", 0) > FULL * limit:
        alarms["redis_memory"] = (
            "Redis is almost full. When it is full, usage goes to the spool. Raise `maxmemory`."
        )
    return alarms
