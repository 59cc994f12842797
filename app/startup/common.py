"""What web, worker and beat check before they start: settings, price file, Redis, database."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.observability.alarms import server_alarms
from app.observability.logs import configure
from app.pricing.price_book import load_prices
from app.settings import ConfigError, Settings, database_url
from app.startup.deadline import Check
from app.startup.finding import RELEASE, SERVING, Finding, start_or_exit
from app.startup.misspelt import misspelt
from app.storage.redis.start_check import check_redis
from app.storage.sql.start_check import check_ledger, check_server
from app.vocabulary.errors import Unavailable

#: How long a service may take to respond, in seconds; all are checked at the same time.
LIMIT_S = 1.5

#: A Redis URL that is never used, for settings of which only the others are read.
_NO_REDIS = "redis://"


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """The settings as far as they are valid, and the problems of the others by variable."""

    settings: Settings
    problems: Mapping[str, str]

    @property
    def knows_redis(self) -> bool:
        """Whether REDIS_URL is valid."""
        return self.problems.keys().isdisjoint({"REDIS_URL", "TOLLGATE_REDIS_CERT"})


def read_settings(env: Mapping[str, str] = os.environ) -> ReadSettings:
    """Read the environment; an invalid variable has its default value."""
    try:
        return ReadSettings(Settings.from_env(env), {})
    except ConfigError as exc:
        # Each line begins with the name of its variable.
        problems = dict(line.split(" ", 1) for line in str(exc).splitlines())
    valid = {name: value for name, value in env.items() if name not in problems}
    valid.setdefault("REDIS_URL", _NO_REDIS)
    return ReadSettings(Settings.from_env(valid), problems)


def check_common(read: ReadSettings, limit_s: float = LIMIT_S) -> Iterator[Finding]:
    """Check what each of web, worker and beat needs; the services have `limit_s` to respond."""
    settings = read.settings
    yield from setting_findings(read.problems, SERVING)
    if not read.problems:
        yield Finding("settings", "ok", "the variables that all of them read are valid")
    yield from misspelt({k: v for k, v in settings.env.items() if k not in read.problems})
    # Before the time of the services begins: reading prices takes the processor.
    if "TOLLGATE_PRICES" not in read.problems:
        yield from findings_of("TOLLGATE_PRICES", lambda: _check_prices(settings))
    database = Check(lambda: check_ledger(settings.database_url), limit_s)
    redis = Check(lambda: check_redis(settings.redis_url), limit_s) if read.knows_redis else None
    if redis is not None:
        info = dict[str, Any]()
        yield from findings_of("REDIS_URL", lambda: _redis_version(redis.result(), info))
        for alarm in server_alarms(info).values():
            yield Finding("REDIS_URL", "warning", alarm)
    yield from findings_of("DATABASE_URL", database.result)


def check_release(env: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Check what the migration of the ledger needs."""
    server = Check(lambda: check_server(database_url(env)), LIMIT_S)
    yield from findings_of("DATABASE_URL", server.result, RELEASE)


def setting_findings(problems: Mapping[str, str], processes: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding for each invalid variable."""
    for variable, problem in problems.items():
        yield Finding(variable, "refused", problem, processes)


def findings_of(
    subject: str, check: Callable[[], str], processes: Sequence[str] = SERVING
) -> Iterator[Finding]:
    """Run a check, which returns what is well; yield its result, or each of its problems."""
    try:
        message = check()
    except ConfigError as exc:
        for line in str(exc).splitlines():
            yield Finding(subject, "refused", line.removeprefix(f"{subject} "), processes)
    except Unavailable as exc:
        yield Finding(subject, "down", exc.message, processes)
    except TimeoutError:
        yield Finding(subject, "down", "no response in time: check host and port", processes)
    else:
        yield Finding(subject, "ok", message, processes)


def _check_prices(settings: Settings) -> str:
    load_prices(settings.prices_file)
    return f"prices of {settings.prices_file or 'the version'}"


def _redis_version(found: Mapping[str, Any], info: dict[str, Any]) -> str:
    """Return what Redis is, and copy what it reports to `info`."""
    info.update(found)
    name = found.get("server_name", "redis").capitalize()
    version = found.get(f"{name.lower()}_version") or found.get("redis_version")
    return f"{name} {version} accepts the login" if version else "accepts the login"


def check_worker_start() -> Settings:
    """Check what a worker or beat needs; return the settings.

    Raises: SystemExit after one line in the log.
    """
    read = read_settings()
    configure(read.settings.log_format)
    start_or_exit(check_common(read))
    return read.settings
