"""Limits in SQL: one row for each account or key that has any."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, or_, select

from app.storage.sql.tables import accounts, api_key_accounts, api_keys, limits
from app.storage.sql.transactions import insert
from app.vocabulary.limits import Kind, Limits

#: Joins limits to keys and to the keys' accounts.
OF_KEYS = or_(
    (limits.c.kind == "key") & (limits.c.subject_id == api_keys.c.key_id),
    (limits.c.kind == "account") & (limits.c.subject_id == api_key_accounts.c.account_id),
)


def limits_in(row: Mapping[Any, Any]) -> Limits | None:
    """Return the limits in a joined row; None if the row has none."""
    if row["kind"] is None:
        return None
    return Limits(**{column.name: row[column.name] for column in limits.columns})


def find_limits(connection: Connection, kind: Kind, subject_id: str) -> Limits | None:
    """Return the limits of an account or key, which may be empty; None if it does not exist."""
    if connection.scalar(_subject(kind, subject_id)) is None:
        return None
    row = connection.execute(select(limits).where(_is_for(kind, subject_id))).first()
    return Limits(kind=kind, subject_id=subject_id) if row is None else Limits(**row._mapping)


def lock_limits(connection: Connection, kind: Kind, subject_id: str) -> Limits | None:
    """Return limits as `find_limits` does, and lock them until the transaction ends."""
    connection.execute(_subject(kind, subject_id).with_for_update())
    return find_limits(connection, kind, subject_id)


def store_limits(connection: Connection, changed: Limits) -> None:
    """Replace the limits of an account or key."""
    if not changed.is_any:
        connection.execute(delete(limits).where(_is_for(changed.kind, changed.subject_id)))
        return
    statement = insert(connection, limits).values(asdict(changed))
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["kind", "subject_id"], set_=dict(statement.excluded)
        )
    )


def copy_limits(connection: Connection, key_id: str, to_key_id: str) -> None:
    """Give a key the limits of another one."""
    found = find_limits(connection, "key", key_id)
    if found is not None:
        store_limits(connection, replace(found, subject_id=to_key_id))


def _subject(kind: Kind, subject_id: str) -> Select[Any]:
    column = accounts.c.account_id if kind == "account" else api_keys.c.key_id
    return select(column).where(column == subject_id)


def _is_for(kind: Kind, subject_id: str) -> ColumnElement[bool]:
    return (limits.c.kind == kind) & (limits.c.subject_id == subject_id)
