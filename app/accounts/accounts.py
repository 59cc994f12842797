"""Accounts and their API keys, in SQL: who pays, and what callers authenticate with.

Errors are sentences for the person at the command line. Does not know how a request carries a key.
"""

import builtins
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection, Engine, Row, Select, delete, func, select, update

from app.accounts.apikey import (
    SCOPES,
    AccountsError,
    ApiKey,
    check_key,
    checked_text,
    new_key_id,
    new_secret,
    secret_digest,
    successor,
)
from app.accounts.limit_rows import OF_KEYS, change_limits, copy_limits, find_limits, limits_in
from app.storage.sql.tables import accounts, api_key_accounts, api_keys, limits
from app.storage.sql.transactions import insert, reading, write
from app.vocabulary.errors import LedgerUnavailable
from app.vocabulary.limits import Kind, Limits

__all__ = ["SCOPES", "Account", "Accounts", "AccountsError", "ApiKey"]

_ACCOUNT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Account:
    """Who pays. Two ids that differ only in case are two accounts."""

    account_id: str
    name: str
    created_at_ms: int


class Accounts:
    """The accounts and keys of one ledger.

    Raises, everywhere: LedgerUnavailable.
    """

    def __init__(self, engine: Engine, now_s: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._now_s = now_s

    def create(self, account_id: str, name: str) -> Account:
        """Create an account; its id is 1 to 64 ASCII letters, digits, `-`, `_` and `.`.

        Raises: AccountsError when the id or the name is of no use, or the account exists.
        """
        if not _ACCOUNT_ID.fullmatch(account_id):
            raise AccountsError(
                "An account's ID is 1 to 64 letters, digits, `-`, `_` and `.`, and begins with a"
                f" letter or digit: {account_id!r} is not."
            )
        account = Account(account_id, checked_text("name", name), self._now_ms())
        if not write(self._engine, lambda connection: _add_account(connection, account)):
            raise AccountsError(f"The account {account_id} exists already.")
        return account

    def list(self) -> builtins.list[Account]:
        """Return every account, by id."""
        with reading(self._engine) as connection:
            found = connection.execute(select(accounts).order_by(accounts.c.account_id))
            return [Account(**row._mapping) for row in found]

    def exists(self, account_id: str) -> bool:
        """Say whether there is such an account."""
        with reading(self._engine) as connection:
            return not _missing(connection, [account_id])

    def create_key(
        self,
        account_ids: Iterable[str],
        scopes: Iterable[str],
        name: str | None = None,
        expires_at_ms: int | None = None,
        *,
        works: bool = True,
    ) -> tuple[ApiKey, str]:
        """Create a key and return it with its secret, which nothing can show again.

        `works` False: it does only after `hand_over`, so that none does that nobody has.
        Raises: AccountsError when an account is unknown, a scope is, or the expiry has passed; or
        when there is no account, unless the scope is `admin` alone.
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
        key = key if works else replace(key, revoked_at_ms=key.created_at_ms)
        secret = new_secret()
        write(self._engine, lambda connection: _add_key(connection, key, secret))
        return key, secret

    def list_keys(self) -> builtins.list[ApiKey]:
        """Return every key, revoked and expired ones too, in the order they were created."""
        with reading(self._engine) as connection:
            return _keys(connection, _KEYS)

    def find_key(self, secret: str | bytes) -> ApiKey | None:
        """Return the key whose secret this is, also when it no longer works."""
        digest = secret_digest(secret)
        if digest is None:
            return None
        with reading(self._engine) as connection:
            found = _keys(connection, _KEYS.where(api_keys.c.secret_sha256 == digest))
        return found[0] if found else None

    def get_key(self, key_id: str) -> ApiKey | None:
        """Return the key with this id, also when it no longer works."""
        with reading(self._engine) as connection:
            found = _keys(connection, _KEYS.where(api_keys.c.key_id == key_id))
        return found[0] if found else None

    def limits(self, kind: Kind, subject_id: str) -> Limits:
        """Return what an account or a key may use.

        Raises: AccountsError when there is no such account or key.
        """
        with reading(self._engine) as connection:
            return find_limits(connection, kind, subject_id)

    def list_limits(self) -> builtins.list[Limits]:
        """Return the limits of every account and key that has any."""
        with reading(self._engine) as connection:
            found = connection.execute(select(limits).order_by(limits.c.kind, limits.c.subject_id))
            return [Limits(**row._mapping) for row in found]

    def set_limits(self, kind: Kind, subject_id: str, **changes: Any) -> Limits:
        """Change some of the limits of an account or a key; return what they are now.

        `changes` are fields of Limits; None lifts a limit. Every process knows of it within 10 s.
        Raises: AccountsError when there is no such account or key, or they make no sense.
        """
        return write(
            self._engine, lambda connection: change_limits(connection, kind, subject_id, changes)
        )

    def revoke(self, key_id: str) -> None:
        """Revoke a key for good; a second time changes nothing.

        Raises: AccountsError when there is no such key.
        """
        now_ms = self._now_ms()
        if not write(self._engine, lambda connection: _revoke(connection, key_id, now_ms)):
            raise _no_such_key(key_id)

    @contextmanager
    def hand_over(self, key: ApiKey) -> Iterator[None]:
        """Have a new key work once its secret has been shown in this block.

        Where that fails, there is no such key any more; where this process dies, it is a revoked
        one. Raises: AccountsError when another command has taken it back in the meantime.
        """
        try:
            yield
        except BaseException:
            with suppress(LedgerUnavailable):  # then it stays, and does not work
                write(self._engine, lambda connection: _discard(connection, key.key_id))
            raise
        if not write(self._engine, lambda connection: _enable(connection, key)):
            raise AccountsError(
                f"The same operation has run twice at once. The key that was printed here,"
                f" {key.key_id}, does not work: use the other one."
            )

    def rotate(
        self, key_id: str, operation_id: str | None = None, *, works: bool = True
    ) -> tuple[ApiKey, str]:
        """Create a key like `key_id`, which goes on working, and return it with its secret.

        A key that expires gives one that lives as long, from now. `works` is as in `create_key`.
        Repeats: one `operation_id` makes one new key of a key. As its secret cannot be shown
        again, the second call raises, and names the key that the first one made.
        Raises: AccountsError; also when the key is unknown, revoked or expired.
        """
        if operation_id is not None:
            operation_id = checked_text("operation id", operation_id)
        secret = new_secret()
        now_ms = self._now_ms()

        def work(connection: Connection) -> ApiKey:
            return _rotate(connection, key_id, operation_id, secret, now_ms, works=works)

        return write(self._engine, work), secret

    def _now_ms(self) -> int:
        return int(self._now_s() * 1000)


_KEYS: Select[Any] = (
    select(api_keys, api_key_accounts.c.account_id, limits)
    .join_from(api_keys, api_key_accounts, isouter=True)
    .join(limits, OF_KEYS, isouter=True)
    .order_by(api_keys.c.created_at_ms, api_keys.c.key_id, api_key_accounts.c.account_id)
)


def _keys(connection: Connection, statement: Select[Any]) -> list[ApiKey]:
    """Return keys from rows of a key, one of its accounts or none, and limits of one of them."""
    rows: dict[str, list[Row[Any]]] = {}
    for row in connection.execute(statement):
        rows.setdefault(row.key_id, []).append(row)
    return [_key([row._mapping for row in of_key]) for of_key in rows.values()]


def _key(rows: Sequence[Mapping[Any, Any]]) -> ApiKey:
    row = rows[0]
    account_ids = dict.fromkeys(row["account_id"] for row in rows)
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
    )


def _no_such_key(key_id: str) -> AccountsError:
    return AccountsError(f"There is no key {key_id!r}; `tollgate keys list` lists them.")


def _missing(connection: Connection, account_ids: Iterable[str]) -> set[str]:
    wanted = set(account_ids)
    found = select(accounts.c.account_id).where(accounts.c.account_id.in_(wanted))
    return wanted.difference(connection.scalars(found))


def _add_account(connection: Connection, account: Account) -> bool:
    # The row itself says so: an INSERT's row count is not kept on every driver.
    statement = insert(connection, accounts).on_conflict_do_nothing()
    added = connection.execute(statement.returning(accounts.c.account_id), asdict(account))
    return added.first() is not None


def _add_key(
    connection: Connection,
    key: ApiKey,
    secret: str,
    rotated_from: str | None = None,
    operation_id: str | None = None,
) -> None:
    if missing := _missing(connection, key.account_ids):
        raise AccountsError(
            f"There is no account {min(missing)!r}; `tollgate accounts create` makes one."
        )
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
        )
    )
    for account_id in key.account_ids:
        connection.execute(
            insert(connection, api_key_accounts).values(key_id=key.key_id, account_id=account_id)
        )


def _revoke(connection: Connection, key_id: str, now_ms: int) -> bool:
    revoked_at_ms = func.coalesce(api_keys.c.revoked_at_ms, now_ms)
    statement = update(api_keys).where(api_keys.c.key_id == key_id)
    return connection.execute(statement.values(revoked_at_ms=revoked_at_ms)).rowcount == 1


def _enable(connection: Connection, key: ApiKey) -> bool:
    statement = update(api_keys).where(api_keys.c.key_id == key.key_id)
    return connection.execute(statement.values(revoked_at_ms=None)).rowcount == 1


def _discard(connection: Connection, key_id: str) -> None:
    connection.execute(delete(limits).where(limits.c.kind == "key", limits.c.subject_id == key_id))
    for table in (api_key_accounts, api_keys):
        connection.execute(delete(table).where(table.c.key_id == key_id))


def _rotate(
    connection: Connection,
    key_id: str,
    operation_id: str | None,
    secret: str,
    now_ms: int,
    *,
    works: bool,
) -> ApiKey:
    # Locked, so that one operation that is sent twice at once comes here one after the other.
    old = _keys(connection, _KEYS.where(api_keys.c.key_id == key_id).with_for_update(of=api_keys))
    if not old:
        raise _no_such_key(key_id)
    made = _made_by(connection, key_id, operation_id) if operation_id else None
    if made and _was_never_shown(connection, made):  # the process died before it had shown it
        _discard(connection, made)
        made = None
    if made:
        raise AccountsError(
            f"The operation {operation_id!r} has made the key {made} already, and showed it then."
            f" If it is lost, revoke {made} and rotate with another operation id."
        )
    if not old[0].is_live(now_ms):
        raise AccountsError(f"The key {key_id} is revoked or expired; create a new one.")
    new = replace(successor(old[0], now_ms), revoked_at_ms=None if works else now_ms)
    _add_key(connection, new, secret, rotated_from=key_id, operation_id=operation_id)
    copy_limits(connection, key_id, new.key_id)
    return _keys(connection, _KEYS.where(api_keys.c.key_id == new.key_id))[0]


def _was_never_shown(connection: Connection, key_id: str) -> bool:
    never = api_keys.c.revoked_at_ms == api_keys.c.created_at_ms
    found = select(api_keys.c.key_id).where(api_keys.c.key_id == key_id, never)
    return connection.scalar(found) is not None


def _made_by(connection: Connection, key_id: str, operation_id: str) -> str | None:
    same = (api_keys.c.rotated_from == key_id) & (api_keys.c.operation_id == operation_id)
    return connection.scalar(select(api_keys.c.key_id).where(same))
