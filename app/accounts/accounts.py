"""Accounts, their API keys and their limits in SQL.

Does not know how a request carries a key: see `keyring`.
"""

import builtins
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection, Engine, select

from app.accounts.apikey import (
    ApiKey,
    check_key,
    checked_text,
    new_key_id,
    new_secret,
    secret_digest,
)
from app.accounts.errors import AccountsError
from app.accounts.key_rows import add_key, delete_key, enable_key, find_keys, revoke_key
from app.accounts.limit_rows import find_limits, lock_limits, store_limits
from app.accounts.rotation import rotate_key, unknown_key
from app.storage.sql.tables import accounts, api_keys, limits
from app.storage.sql.transactions import insert, reading, write
from app.vocabulary.errors import LedgerUnavailable
from app.vocabulary.limits import Kind, Limits

_ACCOUNT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Account:
    """An account, which pays for requests. IDs are case-sensitive."""

    account_id: str
    name: str
    created_at_ms: int


class Accounts:
    """The accounts, keys and limits of one ledger.

    Every method raises LedgerUnavailable.
    """

    def __init__(self, engine: Engine, now_s: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._now_s = now_s

    def create(self, account_id: str, name: str) -> Account:
        """Create an account; its ID is 1 to 64 ASCII letters, digits, `-`, `_` and `.`.

        Raises: AccountsError when the ID or the name is invalid, or the account exists.
        """
        if not _ACCOUNT_ID.fullmatch(account_id):
            raise AccountsError(
                f"{account_id!r} is not a valid account ID. Use 1 to 64 letters, digits, `-`, `_`"
                " and `.`, beginning with a letter or digit."
            )
        account = Account(account_id, checked_text("name", name), self._now_ms())
        if not write(self._engine, lambda connection: _add_account(connection, account)):
            raise AccountsError(f"The account {account_id} already exists.")
        return account

    def list(self) -> builtins.list[Account]:
        """Return all accounts, by ID."""
        with reading(self._engine) as connection:
            found = connection.execute(select(accounts).order_by(accounts.c.account_id))
            return [Account(**row._mapping) for row in found]

    def exists(self, account_id: str) -> bool:
        """Return whether the account exists."""
        with reading(self._engine) as connection:
            return not _missing(connection, [account_id])

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
        key = ApiKey(
            key_id=new_key_id(),
            name=None if name is None else checked_text("name", name),
            account_ids=tuple(sorted(set(account_ids))),
            scopes=frozenset(scopes),
            created_at_ms=self._now_ms(),
            expires_at_ms=expires_at_ms,
            revoked_at_ms=None,
        )
        check_key(key)
        key = key if enabled else replace(key, revoked_at_ms=key.created_at_ms)
        secret = new_secret()
        write(self._engine, lambda connection: _add_new_key(connection, key, secret))
        return key, secret

    def list_keys(self) -> builtins.list[ApiKey]:
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
        if not write(self._engine, lambda connection: revoke_key(connection, key_id, now_ms)):
            raise unknown_key(key_id)

    @contextmanager
    def hand_over(self, key: ApiKey) -> Iterator[None]:
        """Enable a new key when this block, which shows its secret, has succeeded.

        If the block fails, the key is deleted. If the process crashes, the key stays disabled.
        Raises: AccountsError when another process has deleted the key in the meantime.
        """
        try:
            yield
        except BaseException:
            with suppress(LedgerUnavailable):  # the key stays, and stays disabled
                write(self._engine, lambda connection: delete_key(connection, key.key_id))
            raise
        if not write(self._engine, lambda connection: enable_key(connection, key.key_id)):
            raise AccountsError(
                "The same operation ran twice at the same time. The key that was printed here,"
                f" {key.key_id}, does not work: use the other one."
            )

    def rotate(
        self, key_id: str, operation_id: str | None = None, *, enabled: bool = True
    ) -> tuple[ApiKey, str]:
        """Create a key like `key_id`, which stays live; return the new one with its secret.

        The new key has the same lifetime, starting now. `enabled` is as in `create_key`.
        Repeats: an `operation_id` creates at most one successor of a key. Its secret cannot be
        shown again, so a second call raises, and names the key that the first one created.
        Raises: AccountsError, also when the key is unknown, revoked or expired.
        """
        if operation_id is not None:
            operation_id = checked_text("operation ID", operation_id)
        secret = new_secret()
        now_ms = self._now_ms()

        def work(connection: Connection) -> ApiKey:
            return rotate_key(connection, key_id, operation_id, secret, now_ms, enabled=enabled)

        return write(self._engine, work), secret

    def limits(self, kind: Kind, subject_id: str) -> Limits:
        """Return the limits of an account or key.

        Raises: AccountsError when there is no such account or key.
        """
        with reading(self._engine) as connection:
            return _known(find_limits(connection, kind, subject_id), kind, subject_id)

    def list_limits(self) -> builtins.list[Limits]:
        """Return the limits of all accounts and keys that have any."""
        with reading(self._engine) as connection:
            found = connection.execute(select(limits).order_by(limits.c.kind, limits.c.subject_id))
            return [Limits(**row._mapping) for row in found]

    def set_limits(self, kind: Kind, subject_id: str, **changes: Any) -> Limits:
        """Change some limits of an account or key; return all of its limits.

        `changes` are fields of Limits; None removes a limit. All processes apply them within 10 s.
        Raises: AccountsError when there is no such account or key, or a limit is invalid.
        """
        return write(
            self._engine, lambda connection: _change_limits(connection, kind, subject_id, changes)
        )

    def _now_ms(self) -> int:
        return int(self._now_s() * 1000)


def _add_account(connection: Connection, account: Account) -> bool:
    # RETURNING, because some drivers do not report an INSERT's row count.
    statement = insert(connection, accounts).on_conflict_do_nothing()
    added = connection.execute(statement.returning(accounts.c.account_id), asdict(account))
    return added.first() is not None


def _missing(connection: Connection, account_ids: Iterable[str]) -> set[str]:
    wanted = set(account_ids)
    found = select(accounts.c.account_id).where(accounts.c.account_id.in_(wanted))
    return wanted.difference(connection.scalars(found))


def _add_new_key(connection: Connection, key: ApiKey, secret: str) -> None:
    if missing := _missing(connection, key.account_ids):
        raise AccountsError(
            f"There is no account {min(missing)!r}. Create it with `tollgate accounts create`."
        )
    add_key(connection, key, secret)


def _known(found: Limits | None, kind: Kind, subject_id: str) -> Limits:
    if found is None:
        raise AccountsError(f"There is no {kind} {subject_id!r}. See `tollgate {kind}s list`.")
    return found


def _change_limits(
    connection: Connection, kind: Kind, subject_id: str, changes: Mapping[str, Any]
) -> Limits:
    found = _known(lock_limits(connection, kind, subject_id), kind, subject_id)
    changed = replace(found, **changes)
    if changed.problem:
        raise AccountsError(changed.problem)
    store_limits(connection, changed)
    return changed
