"""Rows of accounts, as something to read and write."""

import sqlalchemy as sa
from sqlalchemy import Connection, Engine

from app.storage.sql.tables import accounts
from app.storage.sql.transactions import reading, write

DEADLINE_S = 60.0


def add_account(connection: Connection, account_id: str) -> None:
    connection.execute(
        accounts.insert(), {"account_id": account_id, "name": "", "created_at_ms": 0}
    )


def add(engine: Engine, account_id: str) -> None:
    write(engine, lambda connection: add_account(connection, account_id))


def account_ids(engine: Engine) -> list[str]:
    with reading(engine) as connection:
        return list(connection.scalars(sa.select(accounts.c.account_id).order_by(sa.text("1"))))
