"""`tollgate keys`: what callers authenticate with."""

import json
import time
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any

import click

from app.accounts.accounts import Accounts
from app.accounts.apikey import SCOPES, ApiKey
from app.accounts.keyring import REVOCATION_BOUND_S
from app.cli.ledger import open_ledger
from app.cli.limit_options import change_and_show, limit_options
from app.cli.output import OutputFailed
from app.cli.tables import format_table, on_terminal
from app.cli.times import Moment, show_time
from app.vocabulary.errors import LedgerUnavailable


@click.group()
def keys() -> None:
    """Create, list, limit, revoke and rotate API keys."""


@keys.command("create")
@click.argument("account_ids", metavar="ACCOUNT...", nargs=-1)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    default=("completions",),
    show_default=True,
    help="What the key may do; repeat it for more.",
)
@click.option("--name", help="A name for people.")
@click.option(
    "--expires",
    type=Moment(future=True),
    help="When the key stops working: 90d, 12h, or an ISO date or time in UTC.",
)
def create_key(
    account_ids: tuple[str, ...],
    scopes: tuple[str, ...],
    name: str | None,
    expires: datetime | None,
) -> None:
    """Create a key for one or more accounts and print it, alone, this once.

    Only a key with the scope `admin` alone may have no account: it reads every account's usage.
    """
    with open_ledger() as engine:
        accounts = Accounts(engine)
        key, secret = accounts.create_key(
            account_ids, scopes, name=name, expires_at_ms=_unix_ms(expires), enabled=False
        )
        _hand_over(accounts, key, secret)


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_keys(as_json: bool) -> None:
    """List every key, without the keys themselves."""
    with open_ledger() as engine:
        found = Accounts(engine).list_keys()
    if as_json:
        click.echo(json.dumps([_as_dict(key) for key in found], indent=2))
    elif found:
        headings = ("key", "name", "accounts", "scopes", "created", "expires", "state")
        for line in format_table(headings, [_row(k) for k in found], pretty=on_terminal()):
            click.echo(line)
    else:
        click.echo("No keys yet. Create one: tollgate keys create ACCOUNT", err=True)


@keys.command("revoke")
@click.argument("key_id")
def revoke_key(key_id: str) -> None:
    """Revoke the key KEY_ID for good."""
    with open_ledger() as engine:
        Accounts(engine).revoke(key_id)
    click.echo(
        f"{key_id} is revoked. It may still work for up to {REVOCATION_BOUND_S} s.", err=True
    )


@keys.command("rotate")
@click.argument("key_id")
@click.option(
    "--operation-id",
    help="A name of your choice for this rotation; repeating it never makes a second key.",
)
def rotate_key(key_id: str, operation_id: str | None) -> None:
    """Make a key like KEY_ID and print it, alone, this once; KEY_ID goes on working.

    When callers have the new key, revoke the old one: `tollgate keys revoke KEY_ID`.
    """
    with open_ledger() as engine:
        accounts = Accounts(engine)
        key, secret = accounts.rotate(key_id, operation_id, enabled=False)
        _hand_over(accounts, key, secret)


@keys.command("limit")
@click.argument("key_id")
@limit_options
def limit_key(key_id: str, *, as_json: bool, **limits: Any) -> None:
    """Show what the key KEY_ID may use, and change what is given; `none` lifts a limit.

    A key is limited by its account's limits and by its own.
    """
    change_and_show("key", key_id, limits, as_json=as_json)


def _hand_over(accounts: Accounts, key: ApiKey, secret: str) -> None:
    """Show a new key's secret, and have it work; where that fails, there is no such key."""
    is_shown = False
    try:
        with accounts.hand_over(key):
            _show_secret(key, secret)
            is_shown = True
    except OutputFailed as exc:
        raise OutputFailed(f"{exc.message} So no key was made.") from exc
    except LedgerUnavailable as exc:
        if is_shown:
            message = f"{exc.message} The key that was printed does not work: make another one."
            raise click.ClickException(message) from exc
        raise


def _show_secret(key: ApiKey, secret: str) -> None:
    """Print the key alone on stdout, so that a script can take it, and the rest on stderr."""
    click.echo(secret)
    about = [f"Key {key.key_id} for {_joined(key.account_ids) or 'no account'}"]
    about.append(f"may: {_joined(key.scopes)}")
    about.append(f"expires: {_expiry(key)}")
    click.echo(f"{'; '.join(about)}.", err=True)
    click.echo("Keep it now: Tollgate stores only its digest and cannot show it again.", err=True)


def _row(key: ApiKey) -> tuple[str | None, ...]:
    return (
        key.key_id,
        key.name,
        _joined(key.account_ids) or None,
        _joined(key.scopes),
        show_time(key.created_at_ms),
        _expiry(key),
        _state(key),
    )


def _expiry(key: ApiKey) -> str:
    return "never" if key.expires_at_ms is None else show_time(key.expires_at_ms)


def _state(key: ApiKey) -> str:
    if key.revoked_at_ms is not None:
        return "revoked"
    return "active" if key.is_live(int(time.time() * 1000)) else "expired"


def _as_dict(key: ApiKey) -> dict[str, object]:
    return asdict(key) | {"scopes": sorted(key.scopes), "state": _state(key)}


def _joined(names: Iterable[str]) -> str:
    return ",".join(sorted(names))


def _unix_ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)
