"""Finds out whether DATABASE_URL can work: why it cannot, or that the server is merely down."""

import os
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import URL, Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from app.settings import ConfigError
from app.storage.sql.engine import create_engine
from app.storage.sql.migrations import known_revisions, revision_of
from app.storage.sql.postgresql import rejected_parameter
from app.vocabulary.errors import LedgerUnavailable

_UPGRADE = "run `tollgate db upgrade`"

#: What the server or its driver reports -> what is wrong and what to do. PostgreSQL sends no code
#: with the end of a handshake, so these are parts of its messages, PgBouncer's and psycopg's.
_FAULTS: tuple[tuple[str, str], ...] = (
    (
        "password authentication failed|SASL authentication failed|auth failed",
        "{place} rejects the password of the user {user}: correct the password",
    ),
    (
        "no password supplied",
        "{place} asks for a password, and there is none: add the one of the user {user}",
    ),
    (
        r'role "[^"]*" does not exist|no such user',
        "{place} has no user {user}: create it, or correct the user",
    ),
    (
        "authentication failed|is not permitted to log in",
        "{place} does not let the user {user} log in: correct the user, or pg_hba.conf",
    ),
    (
        r'database "[^"]*" does not exist|no such database',
        "{place} has no database {database}: create it, or correct its name",
    ),
    (
        "no pg_hba.conf entry|pg_hba.conf rejects|permission denied for database",
        "{place} does not let the user {user} use the database {database} from this host:"
        " see pg_hba.conf and the user's grants",
    ),
    (
        # Unless the name server is down.
        "(?:failed to resolve host|could not translate host name)(?!.*Temporary failure)",
        "the host of {place} cannot be resolved: check the name, and DNS",
    ),
    (
        "does not support SSL|certificate|root.crt",
        "TLS with {place} fails: see sslmode and sslrootcert in the URL",
    ),
    (
        "invalid response to SSL negotiation",
        "the server at {place} is not PostgreSQL: check host and port",
    ),
    (
        'invalid connection option|invalid .*value|missing "="|invalid port number',
        "the URL has an invalid port or option: check what follows the host",
    ),
    (
        "permission denied for (?:table|schema|relation)",
        "the user {user} may not read the tables of the database {database}: grant it access",
    ),
    ("file is not a database", "{database} is not a SQLite database: correct the path"),
    ("unable to open database file", "{database} cannot be opened: check its permissions"),
)

#: Reasons why a server is down, in the driver's words.
_REASONS = re.compile(
    r"FATAL:\s*(?P<fatal>[^\n]*)|(?P<known>Connection refused|timeout expired|timed? ?out"
    r"|No such file or directory|Network is unreachable|No route to host|closed the connection"
    r"|server login has been failing|Temporary failure in name resolution)"
)


def check_ledger(url: str) -> str:
    """Connect, and check that all migrations have run; return what the database is.

    Raises: ConfigError if another URL, another configuration of the server or the migrations are
    needed, with the reason; LedgerUnavailable if the server is down. Neither message contains a
    password.
    """
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite":
        _check_file(parsed)
    version, revision = _connected(url, parsed)
    newest = known_revisions()[-1]
    if revision is None:
        raise ConfigError(f"{_name(parsed)} has no tables yet: {_UPGRADE}")
    if revision in known_revisions()[:-1]:
        raise ConfigError(
            f"{_name(parsed)} lacks migrations ({revision}, not {newest}): {_UPGRADE}"
        )
    return f"{version}, schema {revision}"


def check_server(url: str) -> str:
    """Connect, as `check_ledger` does, and return its version; the schema may be missing or old.

    Raises: ConfigError, LedgerUnavailable.
    """
    parsed = _parsed(url)
    if parsed.get_backend_name() == "sqlite":
        return "SQLite"  # a missing file will be created
    return _connected(url, parsed)[0]


def check_replica(url: str) -> str:
    """Connect to a read replica of the ledger, as `check_server` does; it may lag behind.

    Raises: ConfigError, also if it has no tables; LedgerUnavailable.
    """
    parsed = _parsed(url)
    version, revision = _connected(url, parsed)
    if revision is None:
        raise ConfigError(f"{_name(parsed)} has no tables, so it is no replica of the ledger")
    return version


def fault_of(error: BaseException | None, url: str) -> str | None:
    """Return why a URL cannot work, from an error of the driver; None if the server may be down."""
    if not isinstance(error, DBAPIError):
        return None
    text, parsed = str(error.orig), _parsed(url)
    if parameter := rejected_parameter(error):
        return (
            f"{_place(parsed)} rejects the startup parameter `{parameter}`: remove"
            " it from the URL, or add it to PgBouncer's ignore_startup_parameters"
        )
    for pattern, message in _FAULTS:
        if re.search(pattern, text):
            return message.format(
                place=_place(parsed), user=repr(parsed.username), database=_name(parsed)
            )
    return None


def _connected(url: str, parsed: URL) -> tuple[str, str | None]:
    """Return the server's version and the schema's revision.

    Raises: as `check_ledger`.
    """
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            return _version(engine), revision_of(connection)
    except SQLAlchemyError as exc:
        if fault := fault_of(exc, url):
            raise ConfigError(fault) from None
        raise LedgerUnavailable(f"{_place(parsed)} does not respond ({_reason(exc)})") from None
    finally:
        engine.dispose()


def _check_file(url: URL) -> None:
    """Check a SQLite file without creating it.

    Raises: ConfigError.
    """
    path = Path(str(url.database or ""))
    if url.database in {None, "", ":memory:"}:
        raise ConfigError("the URL names no file; several processes share the ledger")
    if not path.exists():
        raise ConfigError(f"there is no file {path} yet: {_UPGRADE}, or correct the path")
    if path.is_dir():
        raise ConfigError(f"{path} is a directory: add the name of a file in it")
    for needed in (path, path.parent):  # the files -wal and -shm are beside it
        if not os.access(needed, os.R_OK | os.W_OK):
            raise ConfigError(f"{needed} is not writable: check its owner and mode")


def _parsed(url: str) -> URL:
    """Return the parts of a URL.

    Raises: ConfigError; also if a part of a password would be taken for the host.
    """
    if not url.startswith("sqlite:"):  # for SQLite, it would create the directory
        create_engine(url).dispose()
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite" and _has_two_ats(url):
        raise ConfigError("in the password, write @ as %40")
    return parsed


def _has_two_ats(url: str) -> bool:
    """Return whether an @ follows the login's: not in the value of an option, where it may be."""
    rest = url.partition("@")[2]
    return "@" in rest and "=" not in rest.partition("@")[0]


def _version(engine: Engine) -> str:
    if engine.dialect.name == "sqlite":
        return f"SQLite {sqlite3.sqlite_version}"
    numbers: Sequence[int] = getattr(engine.dialect, "server_version_info", ())
    return f"PostgreSQL {'.'.join(map(str, numbers))}"


def _name(url: URL) -> str:
    """Return the database: of SQLite, the path; of PostgreSQL, the name, by default the user's."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return repr(url.database or url.username) if url.database or url.username else "the database"


def _place(url: URL) -> str:
    """Return the server without user and password; of several hosts, all."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    hosts = url.query.get("host") or url.host or "localhost"
    named = hosts if isinstance(hosts, str) else ", ".join(hosts)
    return f"PostgreSQL at {named}{f':{url.port}' if url.port else ''}"


def _reason(error: SQLAlchemyError) -> str:
    """Return why a server does not respond, without a password."""
    found = _REASONS.search(str(getattr(error, "orig", error)))
    if found is None:
        return type(error).__name__
    return (found["fatal"] or found["known"]).strip()
