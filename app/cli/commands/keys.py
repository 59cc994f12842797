"""`tollgate keys`: creates, lists, finds, limits, revokes and rotates API keys."""

import json
import time
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

import click

from app.accounts.accounts import Accounts
from app.accounts.apikey import SCOPES, ApiKey
from app.cli.actor import open_accounts
from app.cli.find_key import find_key
from app.cli.limit_options import change_and_show, limit_options
from app.cli.output import OutputFailed
from app.cli.tables import format_table, on_terminal
from app.cli.taking_effect import wait_until_noticed
from app.cli.times import Moment, Span, show_time
from app.vocabulary.errors import LedgerUnavailable


@click.group()
def keys() -> None:
    """Create, list, find, limit, revoke and rotate API keys."""


keys.add_command(find_key)


@keys.command("create")
@click.argument("account_ids", metavar="ACCOUNT...", nargs=-1)
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    default=("completions",),
    show_default=True,
    help="What the key may do; repeat the option for several scopes.",
)
@click.option("--name", help="Display name.")
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
    """Create a key for one or more accounts and print it. It is shown only once.

    A key needs an account unless `admin` is its only scope: it then reads the usage of all
    accounts.
    """
    with open_accounts() as accounts:
        key, secret = accounts.create_key(
            account_ids, scopes, name=name, expires_at_ms=_unix_ms(expires), enabled=False
        )
        _hand_over(accounts, key, secret)


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_keys(as_json: bool) -> None:
    """List all keys, without their secrets. The last use may be two minutes behind."""
    with open_accounts() as accounts:
        found = accounts.list_keys()
    if as_json:
        click.echo(json.dumps([_as_dict(key) for key in found], indent=2))
    elif found:
        headings = ("key", "name", "accounts", "scopes", "created", "expires", "last used", "state")
        for line in format_table(headings, [_row(k) for k in found], pretty=on_terminal()):
            click.echo(line)
    else:
        click.echo("No keys yet. Create one: tollgate keys create ACCOUNT", err=True)


@keys.command("revoke")
@click.argument("key_id")
def revoke_key(key_id: str) -> None:
    """Revoke the key KEY_ID permanently. Requests in flight run to their end.

    When the command returns, no web process accepts the key any more, except one that cannot reach
    the ledger: it accepts keys that it knows for up to five minutes.
    """
    with open_accounts() as accounts:
        accounts.revoke(key_id)
    wait_until_noticed(f"{key_id} is revoked.", "It is refused everywhere.")


@keys.command("rotate")
@click.argument("key_id")
@click.option(
    "--operation-id",
    help="An ID that you choose for this rotation. Repeating it never creates a second key.",
)
@click.option(
    "--overlap",
    type=Span(),
    help="How long KEY_ID still works, such as 24h; default: until you revoke it.",
)
def rotate_key(key_id: str, operation_id: str | None, overlap: timedelta | None) -> None:
    """Create a key like KEY_ID and print it. It is shown only once. Both keys work.

    With --overlap, KEY_ID expires by itself. Otherwise, revoke it when callers use the new key:
    `tollgate keys revoke KEY_ID`.
    """
    overlap_s = None if overlap is None else overlap.total_seconds()
    with open_accounts() as accounts:
        key, secret = accounts.rotate(key_id, operation_id, enabled=False)
        _hand_over(accounts, key, secret, overlap_s)
        old = accounts.get_key(key_id)
    if old is not None and overlap is not None:
        click.echo(f"{key_id} works until {_expiry(old)}.", err=True)


@keys.command("limit")
@click.argument("key_id")
@limit_options
def limit_key(key_id: str, *, as_json: bool, **limits: Any) -> None:
    """Show the limits of the key KEY_ID, and change the given ones. `none` removes a limit.

    The limits of the key's account apply, too.
    """
    change_and_show("key", key_id, limits, as_json=as_json)


def _hand_over(
    accounts: Accounts, key: ApiKey, secret: str, overlap_s: float | None = None
) -> None:
    """Print a new key's secret and activate the key; if either fails, the key stays inactive."""
    is_shown = False
    try:
        with accounts.hand_over(key, overlap_s):
            _show_secret(key, secret)
            is_shown = True
    except OutputFailed as exc:
        raise OutputFailed(f"{exc.message} No key was created.") from exc
    except LedgerUnavailable as exc:
        if is_shown:
            message = f"{exc.message} The printed key does not work. Create another one."
            raise click.ClickException(message) from exc
        raise


def _show_secret(key: ApiKey, secret: str) -> None:
    """Print only the secret on stdout, for scripts, and its description on stderr."""
    click.echo(secret)
    about = [f"Key {key.key_id} for {_joined(key.account_ids) or 'no account'}"]
    about.append(f"scopes: {_joined(key.scopes)}")
    about.append(f"expires: {_expiry(key)}")
    click.echo(f"{'; '.join(about)}.", err=True)
    if key.disabled_account_ids:
        disabled = _joined(key.disabled_account_ids)
        click.echo(
            f"Disabled: {disabled}. Until it is enabled, the key is refused for it.", err=True
        )
    click.echo("Save it now: Tollgate stores only its hash and cannot show it again.", err=True)


def _row(key: ApiKey) -> tuple[str | None, ...]:
    return (
        key.key_id,
        key.name,
        _joined(key.account_ids) or None,
        _joined(key.scopes),
        show_time(key.created_at_ms),
        _expiry(key),
        "never" if key.last_used_at_ms is None else show_time(key.last_used_at_ms),
        _state(key),
    )


def _expiry(key: ApiKey) -> str:
    return "never" if key.expires_at_ms is None else show_time(key.expires_at_ms)


def _state(key: ApiKey) -> str:
    return key.state(int(time.time() * 1000))


def _as_dict(key: ApiKey) -> dict[str, object]:
    sets = {"scopes": sorted(key.scopes), "disabled_account_ids": sorted(key.disabled_account_ids)}
    return asdict(key) | sets | {"state": _state(key)}


def _joined(names: Iterable[str]) -> str:
    return ",".join(sorted(names))


def _unix_ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp() * 1000)
