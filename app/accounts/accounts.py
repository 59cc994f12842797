"""Accounts, their API keys and their limits in SQL. Each change is in the audit trail.

Does not know how a request carries a key: see `keyring`.
"""

import builtins
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import Connection, select

from app.accounts.account_rows import (
    Account,
    add_account,
    check_account_id,
    find_accounts,
    lock_account,
    missing_accounts,
    store_account,
    unknown_account,
    with_state,
)
from app.accounts.apikey import checked_text
from app.accounts.errors import AccountsError
from app.accounts.key_rows import find_keys
from app.accounts.keys import Keys
from app.accounts.limit_rows import find_limits, lock_limits, store_limits
from app.storage.sql.audit import Change, changed_fields, record
from app.storage.sql.tables import api_keys, limits
from app.storage.sql.transactions import reading, write
from app.vocabulary.limits import Kind, Limits

__all__ = ["Account", "Accounts"]


class Accounts(Keys):
    """The accounts, keys and limits of one ledger.

    Every method raises LedgerUnavailable, and AlreadyDone if the actor's operation was done before.
    """

    def create(self, account_id: str, name: str, description: str | None = None) -> Account:
        """Create an account; its ID is 1 to 64 ASCII letters, digits, `-`, `_` and `.`.

        Raises: AccountsError when the ID, the name or the description is invalid, or the account
        exists.
        """
        check_account_id(account_id)
        about = None if description is None else checked_text("description", description)
        name, now_ms = checked_text("name", name), self._now_ms()
        account = Account(account_id, name, now_ms, about)
        detail = {"name": name} | ({"description": about} if about is not None else {})

        def work(connection: Connection) -> bool:
            if added := add_account(connection, account):
                change = Change("account.create", (account_id,), detail=detail)
                record(connection, now_ms, self._actor, change)
            return added

        if not write(self._engine, work):
            raise AccountsError(f"The account {account_id} already exists.")
        return account

    def list(self) -> builtins.list[Account]:
        """Return all accounts, by ID."""
        with reading(self._engine) as connection:
            return find_accounts(connection)

    def get(self, account_id: str) -> Account:
        """Return an account.

        Raises: AccountsError when it does not exist.
        """
        found = [it for it in self.list() if it.account_id == account_id]
        if not found:
            raise unknown_account(account_id)
        return found[0]

    def exists(self, account_id: str) -> bool:
        """Return whether the account exists."""
        with reading(self._engine) as connection:
            return not missing_accounts(connection, [account_id])

    def update(
        self,
        account_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        expected: Account | None = None,
    ) -> Account:
        """Change an account's name or description, and return it; None leaves a field as it is.

        An empty description removes it. `expected` is the account as the caller knows it.
        Raises: AccountsError when there is no such account, a text is invalid, or the texts are
        not those of `expected` any more.
        """
        if name is not None:
            checked_text("name", name)
        if description:
            checked_text("description", description)

        def changed(account: Account) -> Account:
            if expected is not None and _texts(account) != _texts(expected):
                raise _changed_meanwhile()
            about = account.description if description is None else description or None
            return replace(account, name=name or account.name, description=about)

        return self._change(account_id, "account.update", changed)

    def disable(self, account_id: str) -> Account:
        """Disable an account, and return it: its keys are not accepted for it any more.

        All web processes apply this within `keyring.REVOCATION_BOUND_S`.
        Raises: AccountsError when there is no such account.
        """
        now_ms = self._now_ms()
        return self._change(
            account_id, "account.disable", lambda it: with_state(it, disabled=True, now_ms=now_ms)
        )

    def enable(self, account_id: str) -> Account:
        """Enable an account again, and return it.

        Raises: AccountsError when there is no such account.
        """
        return self._change(
            account_id, "account.enable", lambda it: with_state(it, disabled=False, now_ms=0)
        )

    def _change(
        self, account_id: str, action: str, changed: Callable[[Account], Account]
    ) -> Account:
        now_ms = self._now_ms()

        def work(connection: Connection) -> Account:
            old = lock_account(connection, account_id)
            new = changed(old)
            if detail := changed_fields(asdict(old), asdict(new)):
                change = Change(action, (account_id,), detail=detail)
                record(connection, now_ms, self._actor, change)
                store_account(connection, new)
            return new

        return write(self._engine, work)

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

    def set_limits(
        self, kind: Kind, subject_id: str, *, expected: Limits | None = None, **changes: Any
    ) -> Limits:
        """Change some limits of an account or key; return all of its limits.

        `changes` are fields of Limits; None removes a limit. All processes apply them within 10 s.
        Raises: AccountsError when there is no such account or key, a limit is invalid, or the
        limits are not `expected`, if that is given.
        """
        now_ms = self._now_ms()

        def work(connection: Connection) -> Limits:
            old = _known(lock_limits(connection, kind, subject_id), kind, subject_id)
            if expected is not None and old != expected:
                raise _changed_meanwhile()
            new = _checked(old, changes)
            if detail := changed_fields(asdict(old), asdict(new)):
                of_key = kind == "key"
                accounts = _accounts_of(connection, subject_id) if of_key else (subject_id,)
                change = Change("limits.set", accounts, subject_id if of_key else None, detail)
                record(connection, now_ms, self._actor, change)
                store_limits(connection, new)
            return new

        return write(self._engine, work)


def _changed_meanwhile() -> AccountsError:
    return AccountsError("This was changed meanwhile. Nothing was done: look again, and repeat it.")


def _texts(account: Account) -> tuple[str, str | None]:
    return account.name, account.description


def _known(found: Limits | None, kind: Kind, subject_id: str) -> Limits:
    if found is None:
        raise AccountsError(f"There is no {kind} {subject_id!r}. See `tollgate {kind}s list`.")
    return found


def _checked(old: Limits, changes: Mapping[str, Any]) -> Limits:
    changed = replace(old, **changes)
    if changed.problem:
        raise AccountsError(changed.problem)
    return changed


def _accounts_of(connection: Connection, key_id: str) -> tuple[str, ...]:
    found = find_keys(connection, api_keys.c.key_id == key_id)
    return found[0].account_ids if found else ()
