"""PostgreSQL databases that serve one test after another: making one costs most of such a test."""

import psycopg
from psycopg import sql

from tests.support.services.postgres import Postgres

_FIRST_OWN_OID = 16384

#: What a test may have changed besides rows.
_SCHEMA = f"""
SELECT array_agg(it ORDER BY it) FROM (
  SELECT format('%s %s %s', oid, relname, reloptions) FROM pg_class WHERE oid >= {_FIRST_OWN_OID}
  UNION ALL SELECT a::text FROM pg_attribute a WHERE attrelid >= {_FIRST_OWN_OID}
  UNION ALL SELECT c::text FROM pg_constraint c WHERE oid >= {_FIRST_OWN_OID}
  UNION ALL SELECT t::text FROM pg_trigger t WHERE oid >= {_FIRST_OWN_OID}
  UNION ALL SELECT p::text FROM pg_proc p WHERE oid >= {_FIRST_OWN_OID}
  UNION ALL SELECT s::text FROM pg_db_role_setting s
  UNION ALL SELECT version_num FROM alembic_version
) AS all_of_it(it)
"""  # noqa: S608 - a number of ours

_DISCONNECT_OTHERS = """
SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""

_TABLES_IN_USE = f"""
SELECT relname FROM pg_class WHERE oid >= {_FIRST_OWN_OID} AND relkind = 'r'
AND relname <> 'alembic_version' AND pg_relation_size(oid) > 0
"""  # noqa: S608 - a number of ours


class LentDatabases:
    """Migrated, empty databases of one server; those that come back are emptied and lent again."""

    def __init__(self, server: Postgres) -> None:
        self._server = server
        self._urls: list[str] = []
        self._schema: object = None

    def lend(self) -> str:
        """Return the URL of an empty database that nobody else knows."""
        if self._urls:
            # Under a new name, so that whoever still writes to the old one does not find it.
            return self._server.rename(self._urls.pop())
        url = self._server.create()
        if self._schema is None:
            with _connected(url) as connection:
                self._schema = _schema(connection)
        return url

    def take_back(self, url: str) -> None:
        """Empty a database, or drop it where a test has changed more than rows."""
        try:
            is_empty = self._emptied(url)
        except psycopg.Error:  # a table is missing, or nobody is let in
            is_empty = False
        if is_empty:
            self._urls.append(url)
        else:
            self._server.drop(url)

    def _emptied(self, url: str) -> bool:
        """Remove all rows; return False where that is not enough."""
        with _connected(url) as connection:
            connection.execute(_DISCONNECT_OTHERS)
            if _schema(connection) != self._schema:
                return False
            if tables := connection.execute(_TABLES_IN_USE).fetchall():
                names = sql.SQL(", ").join(sql.Identifier(name) for (name,) in tables)
                connection.execute(sql.SQL("TRUNCATE {} RESTART IDENTITY CASCADE").format(names))
        return True


def _connected(url: str) -> "psycopg.Connection[tuple[str]]":
    return psycopg.connect(url.replace("+psycopg", ""), autocommit=True)


def _schema(connection: "psycopg.Connection[tuple[str]]") -> object:
    return connection.execute(_SCHEMA).fetchone()
