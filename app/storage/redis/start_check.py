"""Finds out whether REDIS_URL can work: why it cannot, or that the server is merely down.

Does not know what Tollgate keeps in Redis.
"""

import socket
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from redis import AuthenticationError, RedisError, ResponseError
from redis.connection import parse_url
from redis.exceptions import InvalidResponse, NoPermissionError
from redis.exceptions import TimeoutError as RedisTimeout
from redis.sentinel import MasterNotFoundError

from app.settings import ConfigError
from app.storage.redis.cluster import reject_cluster
from app.storage.redis.connection import connect, write_probe
from app.storage.redis.url import parse_redis_url
from app.vocabulary.errors import StreamUnavailable

#: How long a connect and each response may take, in seconds.
TIMEOUT_S = 3.0

#: Options of the URL that name files.
_FILE_OPTIONS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")

#: Kind of error, a part of its message, and what is wrong and what to do.
_FAULTS: tuple[tuple[type[Exception], str, str], ...] = (
    (AuthenticationError, "", "Redis at {place} rejects the login ({text}): check the password"),
    (NoPermissionError, "", "Redis at {place} denies this user a command ({text}): see its ACL"),
    (InvalidResponse, "", "the server at {place} is not Redis: check host, port and scheme"),
    (
        ResponseError,
        "DB index",
        "Redis at {place} has no database of this number: correct the end of the URL",
    ),
    (socket.gaierror, "", "the host of {place} cannot be resolved: check the name, and DNS"),
    (
        ssl.SSLCertVerificationError,
        "",
        "the certificate of {place} is not trusted ({text}): see TOLLGATE_REDIS_CERT",
    ),
    (ssl.SSLError, "WRONG_VERSION", "the server at {place} does not use TLS: write redis://"),
)


def check_redis(url: str) -> Mapping[str, Any]:
    """Connect and log in; return the answer to INFO, {} if that is not permitted.

    Raises: ConfigError if another URL or another configuration of Redis is needed, with the reason;
    StreamUnavailable if the server is down. Neither message contains a password.
    """
    _check_login_is_quoted(url)
    _check_files(url)
    with connect(url, TIMEOUT_S) as redis:
        try:
            redis.ping()
            reject_cluster(redis)
            _check_writes(redis)
            return _info(redis)
        except (RedisError, OSError) as exc:
            if fault := _fault(exc, url):
                raise ConfigError(fault) from None
            reason = _reason(exc)
            raise StreamUnavailable(f"Redis at {_place(url)} does not respond ({reason})") from None


def _check_login_is_quoted(url: str) -> None:
    """Raise ConfigError if a part of a password would be taken for the host."""
    parts = urlsplit(url)
    if "sentinel" not in parts.scheme and "@" in f"{parts.path}{parts.query}{parts.fragment}":
        raise ConfigError("in the password, write / ? # @ as %2F %3F %23 %40")


def _check_files(url: str) -> None:
    """Raise ConfigError if a file that an option of the URL names cannot be read."""
    for option, path in parse_qsl(urlsplit(url).query):
        if option in _FILE_OPTIONS:
            try:
                Path(path).read_bytes()
            except (OSError, ValueError) as exc:
                why = getattr(exc, "strerror", None) or exc
                raise ConfigError(
                    f"the file that `{option}` names in the URL cannot be read ({why}): correct the"
                    " path, or let this user read the file"
                ) from None


def _check_writes(redis: Any) -> None:
    """Raise an error if writing is not permitted; any other rejection may pass."""
    try:
        write_probe(redis)
    except NoPermissionError:
        raise
    except ResponseError:  # a replica, or full: an alarm, and web processes use the spool
        return


def _info(redis: Any) -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = redis.info()
    except ResponseError:
        return {}
    return found


def _fault(error: BaseException, url: str) -> str | None:
    """Return why this URL cannot work; None if the server may just be down."""
    faults = (template for cause in _causes(error) if (template := _template(cause)))
    template = next(faults, None)
    return template and template.format(place=_place(url), text=_text(error))


def _template(error: BaseException) -> str | None:
    if isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN:
        return None  # the name server is down
    found = (
        template
        for kind, part, template in _FAULTS
        if isinstance(error, kind) and part in str(error)
    )
    return next(found, None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _text(error: BaseException) -> str:
    """Return Redis's message; it contains no password."""
    return str(error).partition("\n")[0].rstrip(".")


def _reason(error: BaseException) -> str:
    """Return a short reason why a server does not respond."""
    if isinstance(error, MasterNotFoundError):
        return "no sentinel knows a primary that is up: check the master name and sentinel_password"
    if isinstance(error, TimeoutError | RedisTimeout):
        return "no response in time: check host and port, and whether the server uses TLS"
    system = next((it for it in _causes(error) if isinstance(it, OSError) and it.strerror), None)
    if system is None and "closed by server" in str(error):
        return "it closes the connection: check that this is the host and port of Redis"
    return str(system.strerror) if system else type(error).__name__


def _place(url: str) -> str:
    """Return host and port, without a password."""
    parsed = parse_redis_url(url)
    if parsed.sentinels:
        return ", ".join(f"{host}:{port}" for host, port in parsed.sentinels)
    options = parse_url(parsed.server_url)  # type: ignore[no-untyped-call]
    return f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
