"""Settings: everything a deployment can set, read once from the environment.

Imports nothing of ours. Secrets never appear in a repr.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parent.parent
CONFIG_DIR = ROOT / "config"


class ConfigError(Exception):
    """The environment does not describe a deployment; the message lists every problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One deployment. Durations are in seconds, sizes in bytes."""

    redis_url: str = field(repr=False)
    database_url: str = field(repr=False)
    vendors_file: Path | None = None
    prices_file: Path | None = None
    body_limit_bytes: int = 10 * 1024 * 1024
    #: Silence after which a stream commits to 200 and sends its first keep-alive comment.
    first_keep_alive_s: float = 20.0
    keep_alive_s: float = 15.0
    #: Proxies of our own in front of the web processes, each of which adds to `x-forwarded-for`.
    proxies: int = 0
    #: How long a web process trusts what it knows of an API key.
    key_cache_s: float = 5.0
    redis_timeout_s: float = 2.0
    #: Without Redis: "serve" spools what was used, "refuse" answers 503.
    on_redis_down: Literal["serve", "refuse"] = "serve"
    spool_dir: Path = Path("var/spool")
    #: Calls vendors with our transport adapter, or with the one that requests has.
    http_adapter: Literal["tollgate", "requests"] = "tollgate"
    #: The form of the web process' log; None: text in a terminal, else json.
    log_format: Literal["json", "text"] | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "Settings":
        """Read the environment.

        Raises: ConfigError naming everything that is missing or malformed, at once.
        """
        problems: list[str] = []
        redis_url = _redis_url(env, problems)
        vendors_file = _file(env, "TOLLGATE_VENDORS", problems)
        prices_file = _file(env, "TOLLGATE_PRICES", problems)
        on_redis_down = env.get("TOLLGATE_ON_REDIS_DOWN") or "serve"
        if on_redis_down not in ("serve", "refuse"):
            problems.append(f"TOLLGATE_ON_REDIS_DOWN is neither serve nor refuse: {on_redis_down}")
        log_format = env.get("TOLLGATE_LOG_FORMAT") or None
        if log_format not in (None, "json", "text"):
            problems.append(f"TOLLGATE_LOG_FORMAT is neither json nor text: {log_format}")
        http_adapter = _http_adapter(env, problems)
        numbers: dict[str, Any] = {
            name: _positive(env, variable, problems)
            for name, variable in NUMBERS.items()
            if env.get(variable)
        }
        if problems:
            raise ConfigError("\n".join(problems))
        return cls(
            redis_url=redis_url,
            database_url=database_url(env),
            vendors_file=vendors_file,
            prices_file=prices_file,
            on_redis_down="refuse" if on_redis_down == "refuse" else "serve",
            spool_dir=Path(env.get("TOLLGATE_SPOOL_DIR") or "var/spool"),
            http_adapter=http_adapter,
            log_format="text" if log_format == "text" else "json" if log_format else None,
            env=dict(env),
            **numbers,
        )


#: Field -> environment variable, for the numbers a deployment may change.
NUMBERS: Mapping[str, str] = {
    "body_limit_bytes": "TOLLGATE_BODY_LIMIT_BYTES",
    "first_keep_alive_s": "TOLLGATE_FIRST_KEEP_ALIVE_S",
    "keep_alive_s": "TOLLGATE_KEEP_ALIVE_S",
    "key_cache_s": "TOLLGATE_KEY_CACHE_S",
    "redis_timeout_s": "TOLLGATE_REDIS_TIMEOUT_S",
    "proxies": "TOLLGATE_PROXIES",
}


def _http_adapter(env: Mapping[str, str], problems: list[str]) -> Literal["tollgate", "requests"]:
    name = env.get("TOLLGATE_HTTP_ADAPTER") or "tollgate"
    if name not in ("tollgate", "requests"):
        problems.append(f"TOLLGATE_HTTP_ADAPTER must be `tollgate` or `requests`, not {name!r}")
    return "requests" if name == "requests" else "tollgate"


def _redis_url(env: Mapping[str, str], problems: list[str]) -> str:
    """Return REDIS_URL, with the check of the server's certificate as it is to be.

    TOLLGATE_REDIS_CERT stands beside it because hosting platforms write REDIS_URL themselves.
    """
    url = env.get("REDIS_URL", "")
    if not url:
        problems.append("REDIS_URL is not set (redis://host:port/0, or rediss:// for TLS)")
    elif not url.startswith(("redis://", "rediss://")):
        problems.append(
            "REDIS_URL must begin with redis:// or rediss://; of a Sentinel or a replicated Redis,"
            " give the address that follows the primary"
        )
    cert = env.get("TOLLGATE_REDIS_CERT") or "required"
    if cert not in ("required", "none"):
        problems.append(f"TOLLGATE_REDIS_CERT is neither required nor none: {cert}")
    if cert == "none" and url.startswith("rediss://") and "ssl_cert_reqs=" not in url:
        url += f"{'&' if '?' in url else '?'}ssl_cert_reqs=none"
    return url


def database_url(env: Mapping[str, str] = os.environ) -> str:
    """Return the ledger's URL in SQLAlchemy's spelling; the default is SQLite under `var/`.

    Hosting platforms spell PostgreSQL `postgres://`; both spellings mean the psycopg driver.
    """
    url = env.get("DATABASE_URL") or f"sqlite:///{Path('var').resolve() / 'ledger.db'}"
    for prefix in ("postgres://", "postgresql://"):
        if url.startswith(prefix):
            return "postgresql+psycopg://" + url.removeprefix(prefix)
    return url


def prices_file(env: Mapping[str, str] = os.environ) -> Path | None:
    """Return the file that is laid over the prices that come with Tollgate.

    Raises: ConfigError when there is none where the environment says.
    """
    problems: list[str] = []
    path = _file(env, "TOLLGATE_PRICES", problems)
    if problems:
        raise ConfigError(problems[0])
    return path


def _file(env: Mapping[str, str], variable: str, problems: list[str]) -> Path | None:
    path = Path(env[variable]) if env.get(variable) else None
    if path is not None and not path.is_file():
        problems.append(f"{variable} names no file: {path}")
    return path


def _positive(env: Mapping[str, str], variable: str, problems: list[str]) -> int | float:
    try:
        number = float(env[variable])
    except ValueError:
        number = 0.0
    whole = variable.endswith(("_BYTES", "_PROXIES"))
    if not 0 < number < float("inf") or (whole and not number.is_integer()):
        kind = "whole number" if whole else "number"
        problems.append(f"{variable} is no {kind} above 0: {env[variable]!r}")
        return 1  # never used
    return int(number) if whole else number
