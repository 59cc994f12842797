"""`tollgate accounts`: creates, lists, changes, disables and limits accounts."""

import json
from dataclasses import asdict
from typing import Any

import click

from app.accounts.accounts import Account
from app.accounts.keyring import REVOCATION_BOUND_S
from app.cli.actor import open_accounts
from app.cli.limit_options import change_and_show, limit_options
from app.cli.tables import Cell, format_table, on_terminal
from app.cli.taking_effect import wait_until_noticed
from app.cli.times import show_time


@click.group()
def accounts() -> None:
    """Create, list, change, disable and limit accounts. Usage is charged to an account."""


@accounts.command("create")
@click.argument("account_id", metavar="ID")
@click.option("--name", help="Display name; default: the ID.")
def create_account(account_id: str, name: str | None) -> None:
    """Create the account ID (letters, digits, `-`, `_`, `.`; case-sensitive) and print the ID."""
    with open_accounts() as accounts:
        account = accounts.create(account_id, name or account_id)
    click.echo(account.account_id)
    click.echo(f"Next, create a key: tollgate keys create {account.account_id}", err=True)


@accounts.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_accounts(as_json: bool) -> None:
    """List all accounts."""
    with open_accounts() as accounts:
        found = accounts.list()
    if as_json:
        click.echo(json.dumps([asdict(account) for account in found], indent=2))
    elif found:
        headings = ("account", "name", "created", "state", "description")
        for line in format_table(headings, [_row(it) for it in found], pretty=on_terminal()):
            click.echo(line)
    else:
        click.echo("No accounts yet. Create one: tollgate accounts create ID", err=True)


@accounts.command("rename")
@click.argument("account_id", metavar="ID")
@click.argument("name")
def rename_account(account_id: str, name: str) -> None:
    """Change the display name of the account ID. The ID itself cannot change."""
    with open_accounts() as accounts:
        accounts.update(account_id, name=name)
    click.echo(f"{account_id} is now called {name}.", err=True)


@accounts.command("describe")
@click.argument("account_id", metavar="ID")
@click.argument("description", metavar="TEXT")
def describe_account(account_id: str, description: str) -> None:
    """Store a description of the account ID, such as its owner. An empty TEXT removes it."""
    with open_accounts() as accounts:
        accounts.update(account_id, description=description)
    click.echo(
        f"The description of {account_id} is {'stored' if description else 'removed'}.", err=True
    )


@accounts.command("disable")
@click.argument("account_id", metavar="ID")
def disable_account(account_id: str) -> None:
    """Disable the account ID: its keys are refused until `tollgate accounts enable ID`.

    Callers get 403 `account_disabled`. A key of several accounts still works for the others.
    Requests in flight run to their end. Usage stays, and admins can read it. When the command
    returns, no web process accepts the keys any more, except one that cannot reach the ledger: it
    accepts keys that it knows for up to five minutes.
    """
    with open_accounts() as accounts:
        accounts.disable(account_id)
    wait_until_noticed(f"{account_id} is disabled.", "Its keys are refused everywhere.")


@accounts.command("enable")
@click.argument("account_id", metavar="ID")
def enable_account(account_id: str) -> None:
    """Enable the account ID again. Its keys work again, except revoked and expired ones."""
    with open_accounts() as accounts:
        accounts.enable(account_id)
    click.echo(
        f"{account_id} is enabled, in every web process within {REVOCATION_BOUND_S} s.", err=True
    )


@accounts.command("limit")
@click.argument("account_id", metavar="ID")
@limit_options
def limit_account(account_id: str, *, as_json: bool, **limits: Any) -> None:
    """Show the limits of the account ID, and change the given ones. `none` removes a limit.

    All keys of an account share its limits. A key can have its own limits, too.
    """
    change_and_show("account", account_id, limits, as_json=as_json)


def _row(account: Account) -> tuple[Cell, ...]:
    state = "active" if account.disabled_at_ms is None else "disabled"
    created = show_time(account.created_at_ms)
    return account.account_id, account.name, created, state, account.description
