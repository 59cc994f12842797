"""Sessions: who has signed in at the dashboard, in SQL.

A session is a random token that only the browser keeps. Knows no cookie and no API key's secret.
"""

import hashlib
import secrets
import time
from collections.abc import Callable

from sqlalchemy import Connection, Engine, delete, select

from app.accounts.apikey import ApiKey
from app.storage.sql.tables import sessions
from app.storage.sql.transactions import insert, reading, write

#: How long a session lasts, used or not; a key that expires or is revoked ends it earlier.
SESSION_S = 12 * 3600

_TOKEN_BYTES = 32


class Sessions:
    """The sessions of one ledger.

    Raises, everywhere: LedgerUnavailable.
    """

    def __init__(self, engine: Engine, now_s: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._now_s = now_s

    def begin(self, key: ApiKey) -> str:
        """Begin a session for who holds a key; return its token: 256 random bits."""
        token = secrets.token_urlsafe(_TOKEN_BYTES)
        now_ms = self._now_ms()
        row = {
            "token_sha256": _digest(token),
            "key_id": key.key_id,
            "expires_at_ms": now_ms + SESSION_S * 1000,
        }

        def work(connection: Connection) -> None:
            connection.execute(delete(sessions).where(sessions.c.expires_at_ms <= now_ms))
            connection.execute(insert(connection, sessions).values(row))

        write(self._engine, work)
        return token

    def key_id(self, token: str) -> str | None:
        """Return the id of the key that the session began with; None when it is over."""
        live = sessions.c.expires_at_ms > self._now_ms()
        statement = select(sessions.c.key_id).where(sessions.c.token_sha256 == _digest(token), live)
        with reading(self._engine) as connection:
            return connection.scalar(statement)

    def end(self, token: str) -> None:
        """End a session for good; one that is over already is no error."""
        statement = delete(sessions).where(sessions.c.token_sha256 == _digest(token))
        write(self._engine, lambda connection: connection.execute(statement))

    def _now_ms(self) -> int:
        return int(self._now_s() * 1000)


def _digest(token: str) -> bytes:
    # surrogatepass: a cookie may decode to anything, and a wrong token is no error of ours.
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
