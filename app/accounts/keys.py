"""API keys in SQL: created, rotated, revoked and found. Each change is in the audit trail.

Does not know how a request carries a key: see `keyring`.
"""

import copy
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Self

from sqlalchemy import Connection, Engine

from app.accounts.account_rows import missing_accounts
from app.accounts.apikey import (
    ApiKey,
    checked_text,
    new_key,
    new_secret,
    secret_digest,
)
from app.accounts.errors import AccountsError
from app.accounts.key_rows import (
    add_key,
    delete_key,
    enable_key,
    find_keys,
    origin_of,
    retire_key,
    revoke_key,
)
from app.accounts.rotation import rotate_key, unknown_key
from app.storage.sql.audit import (
    UNKNOWN_ACTOR,
    Actor,
    AuditEntry,
    Change,
    operation_entry,
    record,
)
from app.storage.sql.tables import api_keys
from app.storage.sql.transactions import reading, write
from app.vocabulary.errors import LedgerUnavailable


class Keys:
    """The API keys of one ledger.

    Every method raises LedgerUnavailable, and AlreadyDone if the actor's operation was done before.
    """

    def __init__(
        self,
        engine: Engine,
        now_s: Callable[[], float] = time.time,
        actor: Actor = UNKNOWN_ACTOR,
    ) -> None:
        self._engine = engine
        self._now_s = now_s
        self._actor = actor

    def acting(self, actor: Actor) -> Self:
        """Return a copy whose changes are recorded as this actor's."""
        acting = copy.copy(self)
        acting._actor = actor
        return acting

    def done_before(self, actor: Actor) -> AuditEntry | None:
        """Return the change that the actor's operation has already made, if any."""
        with reading(self._engine) as connection:
            return operation_entry(connection, actor)

    def create_key(
        self,
        account_ids: Iterable[str],
        scopes: Iterable[str],
        name: str | None = None,
        expires_at_ms: int | None = None,
        *,
        enabled: bool = True,
    ) -> tuple[ApiKey, str]:
        """Create a key; return it with its secret, which cannot be shown again.

        With `enabled` False, the key does not work before `hand_over`, so that no live key exists
        whose secret was never shown.
        Raises: AccountsError when an account or a scope is unknown, when the expiry has passed, or
        when there is no account and the scopes are not `admin` alone.
        """
        key = new_key(account_ids, scopes, name, expires_at_ms, self._now_ms())
        key = key if enabled else replace(key, revoked_at_ms=key.created_at_ms)
        secret = new_secret()

        def work(connection: Connection) -> ApiKey:
            _check_accounts(connection, key)
            add_key(connection, key, secret)
            if enabled:
                self._record_new(connection, key, key.created_at_ms)
            return find_keys(connection, api_keys.c.key_id == key.key_id)[0]

        return write(self._engine, work), secret

    def list_keys(self) -> list[ApiKey]:
        """Return all keys, including revoked and expired ones, in the order of their creation."""
        with reading(self._engine) as connection:
            return find_keys(connection)

    def find_key(self, secret: str | bytes) -> ApiKey | None:
        """Return the key with this secret, even if it is revoked or expired; None if unknown."""
        digest = secret_digest(secret)
        if digest is None:
            return None
        with reading(self._engine) as connection:
            found = find_keys(connection, api_keys.c.secret_sha256 == digest)
        return found[0] if found else None

    def get_key(self, key_id: str) -> ApiKey | None:
        """Return the key with this ID, even if it is revoked or expired; None if unknown."""
        with reading(self._engine) as connection:
            found = find_keys(connection, api_keys.c.key_id == key_id)
        return found[0] if found else None

    def revoke(self, key_id: str) -> None:
        """Revoke a key permanently; revoking it again changes nothing.

        Raises: AccountsError when the key is unknown.
        """
        now_ms = self._now_ms()

        def work(connection: Connection) -> None:
            found = find_keys(connection, api_keys.c.key_id == key_id)
            if not found:
                raise unknown_key(key_id)
            if revoke_key(connection, key_id, now_ms):
                change = Change("key.revoke", found[0].account_ids, key_id)
                record(connection, now_ms, self._actor, change)

        write(self._engine, work)

    @contextmanager
    def hand_over(self, key: ApiKey, overlap_s: float | None = None) -> Iterator[None]:
        """Enable a new key when this block, which shows its secret, has succeeded.

        If it is a rotation's and `overlap_s` is given, the key that it replaces expires after
        `overlap_s`. If the block fails, the new key is deleted. If the process crashes, the new key
        stays disabled, and the old one does not expire.
        Raises: AccountsError when another process has deleted the key in the meantime.
        """
        try:
            yield
        except BaseException:
            with suppress(LedgerUnavailable):  # the key stays, and stays disabled
                write(self._engine, lambda connection: delete_key(connection, key.key_id))
            raise
        if not write(self._engine, lambda connection: self._enable(connection, key, overlap_s)):
            raise AccountsError(
                "The same operation ran twice at the same time. The key that was printed here,"
                f" {key.key_id}, does not work: use the other one."
            )

    def rotate(
        self,
        key_id: str,
        operation_id: str | None = None,
        *,
        overlap_s: float | None = None,
        enabled: bool = True,
    ) -> tuple[ApiKey, str]:
        """Create a key like `key_id`; return the new one with its secret.

        The new key has the same lifetime, starting now. `key_id` stays live, for `overlap_s` if
        that is given. `enabled` is as in `create_key`; if False, the overlap starts in `hand_over`.
        Repeats: an `operation_id` creates at most one successor of a key. Its secret cannot be
        shown again, so a second call raises, and names the key that the first one created.
        Raises: AccountsError, also when the key is unknown, revoked, expired or already replaced.
        """
        if operation_id is not None:
            operation_id = checked_text("operation ID", operation_id)
        secret = new_secret()
        now_ms = self._now_ms()

        def work(connection: Connection) -> ApiKey:
            new = rotate_key(connection, key_id, operation_id, secret, now_ms, enabled=enabled)
            if enabled:
                self._record_new(connection, new, now_ms, key_id, overlap_s)
            return new

        return write(self._engine, work), secret

    def _enable(self, connection: Connection, key: ApiKey, overlap_s: float | None) -> bool:
        if not enable_key(connection, key.key_id):
            return False
        origin = origin_of(connection, key.key_id)
        self._record_new(connection, key, self._now_ms(), origin, overlap_s)
        return True

    def _record_new(
        self,
        connection: Connection,
        key: ApiKey,
        now_ms: int,
        origin: str | None = None,
        overlap_s: float | None = None,
    ) -> None:
        """Record a key that works from now on; let the key that it replaces expire."""
        detail: dict[str, object] = {"scopes": ", ".join(sorted(key.scopes))}
        if key.name is not None:
            detail["name"] = key.name
        if key.expires_at_ms is not None:
            detail["expires_at_ms"] = key.expires_at_ms
        if origin is not None:
            detail["rotated_from"] = origin
        if origin is not None and overlap_s is not None:
            ends_ms = now_ms + int(overlap_s * 1000)
            retire_key(connection, origin, now_ms, ends_ms)
            detail["old_key_expires_at_ms"] = ends_ms
        action = "key.create" if origin is None else "key.rotate"
        record(connection, now_ms, self._actor, Change(action, key.account_ids, key.key_id, detail))

    def _now_ms(self) -> int:
        return int(self._now_s() * 1000)


def _check_accounts(connection: Connection, key: ApiKey) -> None:
    if missing := missing_accounts(connection, key.account_ids):
        raise AccountsError(
            f"There is no account {min(missing)!r}. Create it with `tollgate accounts create`."
        )
