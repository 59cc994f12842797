"""Rotation of API keys: a new key like an existing one, at most one for each operation."""

from dataclasses import replace

from sqlalchemy import Connection, select

from app.accounts.apikey import ApiKey, successor
from app.accounts.errors import AccountsError
from app.accounts.key_rows import add_key, delete_key, find_keys
from app.accounts.limit_rows import copy_limits
from app.storage.sql.tables import api_keys


def rotate_key(
    connection: Connection,
    key_id: str,
    operation_id: str | None,
    secret: str,
    now_ms: int,
    *,
    enabled: bool,
) -> ApiKey:
    """Create the successor of a key with `secret`, and return it; the key itself stays live.

    Raises: AccountsError when the key is unknown, revoked, expired or about to expire after another
    rotation, or when the operation has already created a key.
    """
    # Locked, so that concurrent calls with the same operation ID run one after the other.
    found = find_keys(connection, api_keys.c.key_id == key_id, lock=True)
    if not found:
        raise unknown_key(key_id)
    if operation_id:
        _check_operation(connection, key_id, operation_id)
    _check_old(found[0], now_ms)
    new = replace(successor(found[0], now_ms), revoked_at_ms=None if enabled else now_ms)
    add_key(connection, new, secret, rotated_from=key_id, operation_id=operation_id)
    copy_limits(connection, key_id, new.key_id)
    return find_keys(connection, api_keys.c.key_id == new.key_id)[0]


def unknown_key(key_id: str) -> AccountsError:
    """Return the error for a key that does not exist."""
    if key_id.startswith("tg_"):
        return AccountsError(
            "This is a key, or the beginning of one, and not a key's ID. Find the ID: tollgate keys"
            " find"
        )
    return AccountsError(f"There is no key {key_id!r}. List keys with `tollgate keys list`.")


def _check_old(key: ApiKey, now_ms: int) -> None:
    """Check that a key can be rotated: it works, and no rotation has given it an end."""
    if not key.is_live(now_ms):
        raise AccountsError(f"The key {key.key_id} is revoked or expired. Create a new one.")
    if key.retired_at_ms is not None:
        raise AccountsError(
            f"The key {key.key_id} was already rotated, and will expire. Rotate the key that"
            " replaces it, or create a new one."
        )


def _check_operation(connection: Connection, key_id: str, operation_id: str) -> None:
    """Check that the operation has created no key, or only one that was never shown.

    The latter happens when a process crashes before it shows the secret; that key is deleted.
    """
    same = (api_keys.c.rotated_from == key_id) & (api_keys.c.operation_id == operation_id)
    created = connection.scalar(select(api_keys.c.key_id).where(same))
    if created is None:
        return
    if not _was_never_shown(connection, created):
        raise AccountsError(
            f"The operation {operation_id!r} has already created the key {created}, and printed it"
            f" then. If it is lost, rotate {created} in its place, and then revoke it."
        )
    delete_key(connection, created)


def _was_never_shown(connection: Connection, key_id: str) -> bool:
    never = api_keys.c.revoked_at_ms == api_keys.c.created_at_ms
    found = select(api_keys.c.key_id).where(api_keys.c.key_id == key_id, never)
    return connection.scalar(found) is not None
