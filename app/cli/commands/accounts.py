"""`tollgate accounts`: creates, lists and limits accounts."""

import json
from dataclasses import asdict
from typing import Any

import click

from app.accounts.accounts import Accounts
from app.cli.ledger import open_ledger
from app.cli.limit_options import change_and_show, limit_options
from app.cli.tables import format_table, on_terminal
from app.cli.times import show_time


@click.group()
def accounts() -> None:
    """Create, list and limit accounts. Usage is charged to an account."""


@accounts.command("create")
@click.argument("account_id", metavar="ID")
@click.option("--name", help="Display name; default: the ID.")
def create_account(account_id: str, name: str | None) -> None:
    """Create the account ID (letters, digits, `-`, `_`, `.`; case-sensitive) and print the ID."""
    with open_ledger() as engine:
        account = Accounts(engine).create(account_id, name or account_id)
    click.echo(account.account_id)
    click.echo(f"Next, create a key: tollgate keys create {account.account_id}", err=True)


@accounts.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_accounts(as_json: bool) -> None:
    """List all accounts."""
    with open_ledger() as engine:
        found = Accounts(engine).list()
    if as_json:
        click.echo(json.dumps([asdict(account) for account in found], indent=2))
    elif found:
        rows = [(a.account_id, a.name, show_time(a.created_at_ms)) for a in found]
        for line in format_table(("account", "name", "created"), rows, pretty=on_terminal()):
            click.echo(line)
    else:
        click.echo("No accounts yet. Create one: tollgate accounts create ID", err=True)


@accounts.command("limit")
@click.argument("account_id", metavar="ID")
@limit_options
def limit_account(account_id: str, *, as_json: bool, **limits: Any) -> None:
    """Show the limits of the account ID, and change the given ones. `none` removes a limit.

    All keys of an account share its limits. A key can have its own limits, too.
    """
    change_and_show("account", account_id, limits, as_json=as_json)
