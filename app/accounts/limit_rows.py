"""Limits in SQL: one row for each account or key that has any."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, delete, or_, select

from app.accounts.apikey import AccountsError
from app.storage.sql.tables import accounts, api_key_accounts, api_keys, limits
from app.storage.sql.transactions import insert
from app.vocabulary.limits import Kind, Limits

#: What joins the limits of keys and of their accounts to both.
OF_KEYS = or_(
    (limits.c.kind == "key") & (limits.c.subject_id == api_keys.c.key_id),
    (limits.c.kind == "account") & (limits.c.subject_id == api_key_accounts.c.account_id),
)


def limits_in(row: Mapping[Any, Any]) -> Limits | None:
    """Return the limits that are in a row of more than that; None where there are none."""
    if row["kind"] is None:
        return None
    return Limits(**{column.name: row[column.name] for column in limits.columns})


def find_limits(connection: Connection, kind: Kind, subject_id: str) -> Limits:
    """Return what an account or key may use; one without a row is without limits.

    Raises: AccountsError when there is no such account or key.
    """
    if connection.scalar(_subject(kind, subject_id)) is None:
        raise AccountsError(f"There is no {kind} {subject_id!r}; see `tollgate {kind}s list`.")
    row = connection.execute(select(limits).where(_is_for(kind, subject_id))).first()
    return Limits(kind=kind, subject_id=subject_id) if row is None else Limits(**row._mapping)


def change_limits(
    connection: Connection, kind: Kind, subject_id: str, changes: Mapping[str, Any]
) -> Limits:
    """Change some of an account's or key's limits, None lifting one; return what they are now.

    Raises: AccountsError when there is no such account or key, or they make no sense.
    """
    # Locked, so that of two changes at once the second knows of the first.
    connection.execute(_subject(kind, subject_id).with_for_update())
    changed = replace(find_limits(connection, kind, subject_id), **changes)
    if changed.problem:
        raise AccountsError(changed.problem)
    if changed.is_any:
        _put(connection, changed)
    else:
        connection.execute(delete(limits).where(_is_for(kind, subject_id)))
    return changed


def copy_limits(connection: Connection, key_id: str, to_key_id: str) -> None:
    """Give a key the limits of another; without any, none."""
    found = find_limits(connection, "key", key_id)
    if found.is_any:
        _put(connection, replace(found, subject_id=to_key_id))


def _subject(kind: Kind, subject_id: str) -> Select[Any]:
    column = accounts.c.account_id if kind == "account" else api_keys.c.key_id
    return select(column).where(column == subject_id)


def _is_for(kind: Kind, subject_id: str) -> ColumnElement[bool]:
    return (limits.c.kind == kind) & (limits.c.subject_id == subject_id)


def _put(connection: Connection, changed: Limits) -> None:
    statement = insert(connection, limits).values(asdict(changed))
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["kind", "subject_id"], set_=dict(statement.excluded)
        )
    )
