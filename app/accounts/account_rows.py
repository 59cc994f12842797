"""Accounts in SQL."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from sqlalchemy import Connection, select, update

from app.accounts.errors import AccountsError
from app.storage.sql.tables import accounts
from app.storage.sql.transactions import insert

_ACCOUNT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Account:
    """An account, which pays for requests. IDs are case-sensitive; times are in Unix milliseconds.

    While it is disabled, its keys are not accepted for it.
    """

    account_id: str
    name: str
    created_at_ms: int
    description: str | None = None
    disabled_at_ms: int | None = None


def check_account_id(account_id: str) -> None:
    """Check that an ID is 1 to 64 ASCII letters, digits, `-`, `_` and `.`.

    Raises: AccountsError.
    """
    if not _ACCOUNT_ID.fullmatch(account_id):
        raise AccountsError(
            f"{account_id[:80]!r} is not a valid account ID. Use 1 to 64 letters, digits, `-`, `_`"
            " and `.`, beginning with a letter or digit."
        )


def add_account(connection: Connection, account: Account) -> bool:
    """Insert an account; return False if it exists already."""
    # RETURNING, because some drivers do not report an INSERT's row count.
    statement = insert(connection, accounts).on_conflict_do_nothing()
    added = connection.execute(statement.returning(accounts.c.account_id), asdict(account))
    return added.first() is not None


def find_accounts(connection: Connection) -> list[Account]:
    """Return all accounts, by ID."""
    found = connection.execute(select(accounts).order_by(accounts.c.account_id))
    return [Account(**row._mapping) for row in found]


def lock_account(connection: Connection, account_id: str) -> Account:
    """Return an account, and lock it until the transaction ends.

    Raises: AccountsError if it does not exist.
    """
    same = accounts.c.account_id == account_id
    row = connection.execute(select(accounts).where(same).with_for_update()).first()
    if row is None:
        raise unknown_account(account_id)
    return Account(**row._mapping)


def store_account(connection: Connection, account: Account) -> None:
    """Replace an account's columns."""
    same = accounts.c.account_id == account.account_id
    connection.execute(update(accounts).where(same).values(asdict(account)))


def with_state(account: Account, *, disabled: bool, now_ms: int) -> Account:
    """Return the account disabled or enabled; the time of an earlier disabling stays."""
    if disabled == (account.disabled_at_ms is not None):
        return account
    return replace(account, disabled_at_ms=now_ms if disabled else None)


def missing_accounts(connection: Connection, account_ids: Iterable[str]) -> set[str]:
    """Return those of the IDs that no account has."""
    wanted = set(account_ids)
    found = select(accounts.c.account_id).where(accounts.c.account_id.in_(wanted))
    return wanted.difference(connection.scalars(found))


def unknown_account(account_id: str) -> AccountsError:
    """Return the error for an account that does not exist."""
    return AccountsError(
        f"There is no account {account_id!r}. List accounts with `tollgate accounts list`."
    )
