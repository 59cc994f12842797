"""REDIS_URL: one Redis, or the sentinels that know which Redis is the primary. No I/O.

`redis+sentinel://[[user]:password@]host[:port],…/MASTER_NAME[/DB][?options]` is the form that
other tools use, too. The user and the password are those of the Redis servers;
`sentinel_username` and `sentinel_password` among the options are those of the sentinels. All other
options are redis-py's. `rediss+sentinel://` uses TLS for the sentinels and for the servers.
"""

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode

from app.settings import ConfigError

SENTINEL_PORT = 26379

#: Scheme -> the scheme of the servers that the sentinels name.
SENTINEL_SCHEMES = {"redis+sentinel": "redis", "rediss+sentinel": "rediss"}

#: The options that are about the sentinels -> redis-py's name for them.
_SENTINEL_OPTIONS = {"sentinel_username": "username", "sentinel_password": "password"}

_PARTS = re.compile(r"([^/?#]*)(?:/([^?#]*))?(?:\?([^#]*))?")
#: What follows the host and is not a number. An `@` there is a password's: see `start_check`.
_NO_DATABASE = re.compile(r"^[^/?#]*/(?![0-9]*\s*(?:[?#]|$))[^?#@]*(?:\?[^#@]*)?$")
_DATABASE = "must end with the number of a database, such as redis://host:6379/0"
# What urllib's parser takes; its own error would quote the password.
_LOGIN = re.compile(r"[!-Z\\^-~]*")
_MEMBER = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:\[\]@]+))(?::([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class RedisURL:
    """Where Redis is.

    `server_url` is a URL of redis-py's: of the one Redis, or, if there are `sentinels`, of a server
    without a host, which they know by `master_name`. `sentinel_login` has redis-py's `username` and
    `password` for the sentinels, as far as they are set.
    """

    server_url: str = field(repr=False)
    sentinels: tuple[tuple[str, int], ...] = ()
    master_name: str = ""
    sentinel_login: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def has_tls(self) -> bool:
        """Whether connections use TLS."""
        return self.server_url.startswith("rediss://")


def parse_redis_url(url: str) -> RedisURL:
    """Return the parts of REDIS_URL.

    Raises: ConfigError that names the problem and quotes nothing of the URL. Of a `redis://` URL,
    all but the database is left to redis-py, which would take 0 for one that is not a number.
    """
    scheme, _, rest = url.partition("://")
    if scheme not in SENTINEL_SCHEMES:
        if _NO_DATABASE.search(rest):
            raise ConfigError(f"REDIS_URL {_DATABASE}")
        return RedisURL(url)
    parts = _PARTS.fullmatch(rest)
    if parts is None:
        raise _invalid("it has a `#`: write %23 in a password")
    authority, path, query = (part or "" for part in parts.groups())
    login, _, members = authority.rpartition("@")
    if not _LOGIN.fullmatch(login):
        raise _invalid("in a user or password, write [, ] and all that is not ASCII as %XX")
    sentinels = _members(members)
    master_name, database = _path(path)
    options, sentinel_login = _options(query)
    server = f"{SENTINEL_SCHEMES[scheme]}://{login}@/{database}{options}"
    return RedisURL(server, sentinels, master_name, sentinel_login)


def _members(text: str) -> tuple[tuple[str, int], ...]:
    """Return the sentinels' hosts and ports.

    A message numbers an invalid one: it may be a part of a password.
    """
    found = []
    for number, member in enumerate(text.split(","), start=1):
        match = _MEMBER.fullmatch(member)
        port = int(match[3] or SENTINEL_PORT) if match else 0
        if match is None or not 0 < port < 65536:
            raise _invalid(
                f"number {number} of its sentinels is not a host:port. In a password, write / ? # ,"
                " and @ as %2F %3F %23 %2C and %40"
            )
        found.append((match[1] or match[2], port))
    return tuple(found)


def _path(path: str) -> tuple[str, int]:
    """Return the name of the master, and the number of the database."""
    name, _, database = path.partition("/")
    if not name:
        raise _invalid("the name by which the sentinels know the master is missing")
    if not re.fullmatch(r"[0-9]{0,9}", database):
        raise _invalid("what follows the master's name is not the number of a database")
    return unquote(name), int(database or 0)


def _options(query: str) -> tuple[str, dict[str, str]]:
    """Return the options for the servers, as a query, and the login for the sentinels."""
    options = parse_qsl(query, keep_blank_values=True)
    login = {_SENTINEL_OPTIONS[k]: v for k, v in options if k in _SENTINEL_OPTIONS and v}
    servers = [(k, v) for k, v in options if k not in _SENTINEL_OPTIONS]
    if any(name.startswith("sentinel_") or name == "db" for name, _ in servers):
        raise _invalid(
            "of the options for sentinels, it may have sentinel_username and sentinel_password;"
            " the database follows the master's name"
        )
    return f"?{urlencode(servers, safe='/', quote_via=quote)}" if servers else "", login


def _invalid(problem: str) -> ConfigError:
    return ConfigError(
        "REDIS_URL is not a Sentinel URL"
        f" (redis+sentinel://:password@host:26379,host:26379/MASTER_NAME/0): {problem}"
    )
