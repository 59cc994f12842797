"""API keys in SQL: a row for each key, and one for each account that it belongs to."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, func, select, update

from app.accounts.apikey import ApiKey, prefix_of, secret_digest
from app.accounts.limit_rows import OF_KEYS, limits_in
from app.storage.sql.tables import accounts, api_key_accounts, api_keys, limits
from app.storage.sql.transactions import insert

_KEYS: Select[Any] = (
    select(api_keys, api_key_accounts.c.account_id, accounts.c.disabled_at_ms, limits)
    .join_from(api_keys, api_key_accounts, isouter=True)
    .join(accounts, accounts.c.account_id == api_key_accounts.c.account_id, isouter=True)
    .join(limits, OF_KEYS, isouter=True)
    .order_by(api_keys.c.created_at_ms, api_keys.c.key_id, api_key_accounts.c.account_id)
)


def find_keys(
    connection: Connection, *conditions: ColumnElement[bool], lock: bool = False
) -> list[ApiKey]:
    """Return the keys that meet the conditions on `api_keys`, oldest first.

    `lock`: whether to lock them until the transaction ends.
    """
    statement = _KEYS.where(*conditions)
    if lock:
        statement = statement.with_for_update(of=api_keys)
    rows: dict[str, list[Row[Any]]] = {}
    for row in connection.execute(statement):
        rows.setdefault(row.key_id, []).append(row)
    return [_key([row._mapping for row in of_key]) for of_key in rows.values()]


def _key(rows: Sequence[Mapping[Any, Any]]) -> ApiKey:
    """Return a key from its rows, which are all pairs of its accounts and its limits."""
    row = rows[0]
    account_ids = dict.fromkeys(row["account_id"] for row in rows)
    disabled = frozenset(it["account_id"] for it in rows if it["disabled_at_ms"] is not None)
    found = dict.fromkeys(limits_in(row) for row in rows)
    return ApiKey(
        key_id=row["key_id"],
        name=row["name"],
        account_ids=tuple(account_id for account_id in account_ids if account_id is not None),
        scopes=frozenset(row["scopes"].split()),
        created_at_ms=row["created_at_ms"],
        expires_at_ms=row["expires_at_ms"],
        revoked_at_ms=row["revoked_at_ms"],
        limits=tuple(it for it in found if it is not None),
        disabled_account_ids=disabled,
        last_used_at_ms=row["last_used_at_ms"],
        secret_prefix=row["secret_prefix"],
        retired_at_ms=row["retired_at_ms"],
    )


def add_key(
    connection: Connection,
    key: ApiKey,
    secret: str,
    rotated_from: str | None = None,
    operation_id: str | None = None,
) -> None:
    """Insert a key and its accounts; only the secret's digest is stored, and no limits are."""
    connection.execute(
        insert(connection, api_keys).values(
            key_id=key.key_id,
            secret_sha256=secret_digest(secret),
            name=key.name,
            scopes=" ".join(sorted(key.scopes)),
            created_at_ms=key.created_at_ms,
            expires_at_ms=key.expires_at_ms,
            revoked_at_ms=key.revoked_at_ms,
            rotated_from=rotated_from,
            operation_id=operation_id,
            secret_prefix=prefix_of(secret),
        )
    )
    for account_id in key.account_ids:
        connection.execute(
            insert(connection, api_key_accounts).values(key_id=key.key_id, account_id=account_id)
        )


def revoke_key(connection: Connection, key_id: str, now_ms: int) -> bool:
    """Revoke a key; return whether that changed it: False if it is unknown or already revoked."""
    live = (api_keys.c.key_id == key_id) & api_keys.c.revoked_at_ms.is_(None)
    statement = update(api_keys).where(live)
    return connection.execute(statement.values(revoked_at_ms=now_ms)).rowcount == 1


def enable_key(connection: Connection, key_id: str) -> bool:
    """Enable a key that was created disabled; return whether it exists."""
    statement = update(api_keys).where(api_keys.c.key_id == key_id)
    return connection.execute(statement.values(revoked_at_ms=None)).rowcount == 1


def retire_key(connection: Connection, key_id: str, now_ms: int, expires_at_ms: int) -> None:
    """Let a key expire at a time, unless it expires earlier anyway."""
    sooner = func.coalesce(api_keys.c.expires_at_ms, expires_at_ms) >= expires_at_ms
    statement = update(api_keys).where(api_keys.c.key_id == key_id)
    connection.execute(statement.values(retired_at_ms=now_ms))
    connection.execute(statement.where(sooner).values(expires_at_ms=expires_at_ms))


def origin_of(connection: Connection, key_id: str) -> str | None:
    """Return the key that this one was rotated from, if any."""
    return connection.scalar(select(api_keys.c.rotated_from).where(api_keys.c.key_id == key_id))


def delete_key(connection: Connection, key_id: str) -> None:
    """Delete a key that was never shown, and its limits; nothing happens if it does not exist."""
    connection.execute(delete(limits).where(limits.c.kind == "key", limits.c.subject_id == key_id))
    for table in (api_key_accounts, api_keys):
        connection.execute(delete(table).where(table.c.key_id == key_id))
