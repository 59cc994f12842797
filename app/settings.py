"""Settings, read once from the environment.

Imports no other module of Tollgate. Secrets never appear in a repr.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

ROOT = Path(__file__).resolve().parent.parent
CONFIG_DIR = ROOT / "config"

OnRedisDown = Literal["serve", "refuse"]
Journal = Literal["on", "off"]
T = TypeVar("T")
LogFormat = Literal["json", "text"]
HttpAdapter = Literal["tollgate", "requests"]

REDIS_SCHEMES = ("redis://", "rediss://", "redis+sentinel://", "rediss+sentinel://")

NO_CLUSTER = (
    "Tollgate does not run on Redis Cluster, because its scripts change several keys in one step."
    " Use a Redis that is not a cluster, and scale with cells: docs/scaling.md"
)


#: The cell of an installation that names none.
MAIN_CELL = "main"


class ConfigError(Exception):
    """The settings are incomplete or invalid; the message lists every problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one installation. Durations are in seconds, sizes in bytes."""

    redis_url: str = field(repr=False)
    database_url: str = field(repr=False)
    #: A read replica of the ledger, for reports; None: reports read from `database_url`.
    database_read_url: str | None = field(default=None, repr=False)
    vendors_file: Path | None = None
    prices_file: Path | None = None
    body_limit_bytes: int = 10 * 1024 * 1024
    #: Seconds without data from the vendor before a stream starts with a keep-alive comment.
    first_keep_alive_s: float = 20.0
    keep_alive_s: float = 15.0
    #: The number of trusted proxies in front; each adds an address to `x-forwarded-for`.
    proxies: int = 0
    #: How long a web process caches an API key.
    key_cache_s: float = 5.0
    redis_timeout_s: float = 2.0
    #: Without Redis: "serve" spools usage, "refuse" responds with 503.
    on_redis_down: OnRedisDown = "serve"
    #: Where the spool and the journal are.
    spool_dir: Path = Path("var/spool")
    #: Whether a web process keeps a second copy of what Redis has, in `spool_dir`.
    journal: Journal = "on"
    #: The name of this Redis with its processes; of several that post to one ledger, each has one.
    cell: str = MAIN_CELL
    #: The adapter that calls vendors: Tollgate's own, or the one of requests.
    http_adapter: HttpAdapter = "tollgate"
    #: The format of the logs; None: text in a terminal, otherwise json.
    log_format: LogFormat | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "Settings":
        """Read the environment.

        Raises: ConfigError that lists all missing and invalid variables.
        """
        problems: list[str] = []
        redis_url = _redis_url(env, problems)
        read_url, cell = _database_read_url(env, problems), _cell(env, problems)
        others = {**_words(env, problems), **_files(env, problems), **_numbers(env, problems)}
        if problems:
            raise ConfigError("\n".join(problems))
        return cls(
            redis_url=redis_url,
            database_url=database_url(env),
            database_read_url=read_url,
            cell=cell,
            spool_dir=Path(env.get("TOLLGATE_SPOOL_DIR") or "var/spool"),
            env=dict(env),
            **others,
        )


#: Field -> environment variable and its words.
WORDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "on_redis_down": ("TOLLGATE_ON_REDIS_DOWN", get_args(OnRedisDown)),
    "journal": ("TOLLGATE_JOURNAL", get_args(Journal)),
    "log_format": ("TOLLGATE_LOG_FORMAT", get_args(LogFormat)),
    "http_adapter": ("TOLLGATE_HTTP_ADAPTER", get_args(HttpAdapter)),
}

#: Field -> environment variable, for paths of files.
FILES: Mapping[str, str] = {
    "vendors_file": "TOLLGATE_VENDORS",
    "prices_file": "TOLLGATE_PRICES",
}

#: Field -> environment variable, for numbers.
NUMBERS: Mapping[str, str] = {
    "body_limit_bytes": "TOLLGATE_BODY_LIMIT_BYTES",
    "first_keep_alive_s": "TOLLGATE_FIRST_KEEP_ALIVE_S",
    "keep_alive_s": "TOLLGATE_KEEP_ALIVE_S",
    "key_cache_s": "TOLLGATE_KEY_CACHE_S",
    "redis_timeout_s": "TOLLGATE_REDIS_TIMEOUT_S",
    "proxies": "TOLLGATE_PROXIES",
}


#: What a cell may be called: its name begins the names of its processes, and of their files.
CELL = re.compile(r"[A-Za-z0-9_-]{1,32}")


def _cell(env: Mapping[str, str], problems: list[str]) -> str:
    """Return the cell's name."""
    cell = env.get("TOLLGATE_CELL") or MAIN_CELL
    if not CELL.fullmatch(cell):
        problems.append(f"TOLLGATE_CELL must be 1-32 letters, digits, `-` or `_`, not {cell!r}")
    return cell


def _words(env: Mapping[str, str], problems: list[str]) -> dict[str, Any]:
    """Return the fields of WORDS that are set."""
    found = {
        name: _choice(env, variable, words, problems) for name, (variable, words) in WORDS.items()
    }
    return {name: word for name, word in found.items() if word is not None}


def _files(env: Mapping[str, str], problems: list[str]) -> dict[str, Path | None]:
    """Return the fields of FILES; None for those that are not set."""
    return {name: _file(env, variable, problems) for name, variable in FILES.items()}


def _numbers(env: Mapping[str, str], problems: list[str]) -> dict[str, int | float]:
    """Return the fields of NUMBERS that are set."""
    return {
        name: _number(env, variable, problems)
        for name, variable in NUMBERS.items()
        if env.get(variable)
    }


def _redis_url(env: Mapping[str, str], problems: list[str]) -> str:
    """Return REDIS_URL, with the certificate check that TOLLGATE_REDIS_CERT sets.

    The check has its own variable because hosting platforms set REDIS_URL themselves.
    """
    url = env.get("REDIS_URL", "")
    if not url:
        problems.append("REDIS_URL is not set (redis://host:port/0, or rediss:// for TLS)")
    elif url.startswith(("redis+cluster://", "rediss+cluster://")):
        problems.append(f"REDIS_URL is a cluster's: {NO_CLUSTER}")
    elif not url.startswith(REDIS_SCHEMES):
        problems.append(
            "REDIS_URL must start with redis:// or rediss://, or with redis+sentinel:// or"
            " rediss+sentinel:// if sentinels know the primary"
        )
    cert = _choice(env, "TOLLGATE_REDIS_CERT", ("required", "none"), problems)
    if cert == "none" and url.startswith("rediss") and "ssl_cert_reqs=" not in url:
        url += f"{'&' if '?' in url else '?'}ssl_cert_reqs=none"
    return url


def database_url(env: Mapping[str, str] = os.environ) -> str:
    """Return the ledger's URL in SQLAlchemy's format; the default is SQLite under `var/`.

    `postgres://`, which hosting platforms use, and `postgresql://` select the psycopg driver.
    """
    default = f"sqlite:///{Path('var').resolve() / 'ledger.db'}"
    return _with_driver(env.get("DATABASE_URL") or default)


def database_read_url(env: Mapping[str, str] = os.environ) -> str | None:
    """Return the URL of the ledger's read replica in SQLAlchemy's format; None without one.

    Raises: ConfigError if it is not the URL of a PostgreSQL server. Its message does not contain
    the URL, which may hold a password.
    """
    return _alone(lambda problems: _database_read_url(env, problems))


def _database_read_url(env: Mapping[str, str], problems: list[str]) -> str | None:
    url = env.get("DATABASE_READ_URL") or None
    if url is not None and not url.startswith(("postgres://", "postgresql://", "postgresql+")):
        problems.append("DATABASE_READ_URL must begin with postgresql://: it names a replica")
    return url and _with_driver(url)


def _with_driver(url: str) -> str:
    return re.sub(r"^postgres(ql)?://", "postgresql+psycopg://", url)


def prices_file(env: Mapping[str, str] = os.environ) -> Path | None:
    """Return the path of the file that overrides the built-in prices; None without one.

    Raises: ConfigError if TOLLGATE_PRICES is not a file.
    """
    return _alone(lambda problems: _file(env, "TOLLGATE_PRICES", problems))


def _alone(read: Callable[[list[str]], T]) -> T:
    """Return one setting; raise its problem, if it has one."""
    problems: list[str] = []
    value = read(problems)
    if problems:
        raise ConfigError(problems[0])
    return value


def _choice(
    env: Mapping[str, str], variable: str, words: tuple[str, ...], problems: list[str]
) -> Any:
    """Return the variable's word, which is one of `words`; None if it is not set."""
    text = env.get(variable) or None
    if text is not None and text not in words:
        problems.append(f"{variable} must be {' or '.join(f'`{w}`' for w in words)}, not {text!r}")
    return text


def _file(env: Mapping[str, str], variable: str, problems: list[str]) -> Path | None:
    path = Path(env[variable]) if env.get(variable) else None
    if path is not None and not path.is_file():
        kind = "which is a directory" if path.is_dir() else "which does not exist"
        problems.append(f"{variable} must be the path of a file, not {str(path)!r}, {kind}")
    return path


def _number(env: Mapping[str, str], variable: str, problems: list[str]) -> int | float:
    try:
        number = float(env[variable])
    except ValueError:
        number = -1.0
    whole = variable.endswith(("_BYTES", "_PROXIES"))
    is_in_range = number >= 0 if variable.endswith("_PROXIES") else number > 0
    if not is_in_range or number == float("inf") or (whole and not number.is_integer()):
        kind = "whole number" if whole else "number"
        least = "of at least 0" if variable.endswith("_PROXIES") else "above 0"
        problems.append(f"{variable} must be a {kind} {least}, not {env[variable]!r}")
        return 1  # never used
    return int(number) if whole else number
