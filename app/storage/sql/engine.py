"""Engines for the ledger's database, which is SQLite or PostgreSQL by its URL.

Does not depend on any table.
"""

from sqlalchemy import Engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from app.settings import ConfigError
from app.storage.sql.postgresql import postgresql_engine
from app.storage.sql.sqlite import sqlite_engine


def create_engine(url: str) -> Engine:
    """Return an engine for `sqlite:///path` or `postgresql+psycopg://…`, without connecting.

    Raises: ConfigError when the URL is invalid. Its message does not contain the URL, which may
    hold a password.
    """
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite":
            return sqlite_engine(parsed)
        if parsed.get_backend_name() == "postgresql":
            return postgresql_engine(parsed)
    except ModuleNotFoundError as exc:
        raise ConfigError(
            f"DATABASE_URL needs a driver that is not installed: {exc.name}."
            " Run: pip install -e '.[postgres]'"
        ) from exc
    except ValueError:  # it quotes what is where the port should be: a password, maybe
        raise ConfigError(
            "DATABASE_URL is not a database URL (postgresql://user:password@host:5432/database):"
            " the port is not a number. In the password, write @ as %40"
        ) from None
    except SQLAlchemyError as exc:
        raise ConfigError("DATABASE_URL is not a database URL") from exc
    raise ConfigError("DATABASE_URL must begin with sqlite:///, postgres:// or postgresql://")
