"""`tollgate keys find`: finds the key that leaked, and says what to do next."""

import sys
import time
from collections.abc import Iterable

import click

from app.accounts.apikey import PREFIX_LENGTH
from app.accounts.leaks import FEWEST, Leak, count_unfindable, find_leaks, fragments
from app.cli.ledger import open_ledger
from app.cli.tables import Cell, format_table, on_terminal
from app.cli.times import show_time


@click.command("find")
@click.argument("fragment", required=False)
def find_key(fragment: str | None) -> None:
    """Find the keys that a leaked FRAGMENT may be of: the first characters of a key, or its ID.

    Paste a whole key only at the prompt or on stdin, so that it is not in your shell's history:
    leave FRAGMENT out. stdin may be any text, such as a log, in which each key is looked up. The
    key is never printed. Exits with 1 if no key is found.
    """
    text = _asked() if fragment is None else fragment
    searched = fragments(text)
    if not searched:
        raise click.UsageError(f"Give `tg_` and at least {FEWEST} more characters of the key.")
    with open_ledger() as engine:
        found = find_leaks(engine, searched)
        unfindable = 0 if all(leak.keys for leak in found) else count_unfindable(engine)
    if fragment is not None and len(fragment) > PREFIX_LENGTH and fragment.startswith("tg_"):
        click.echo(
            "The key is now in your shell's history. Next time, leave FRAGMENT out and paste the"
            " key at the prompt.",
            err=True,
        )
    _print(found)
    _print_next(found, unfindable)
    if not any(leak.keys for leak in found):
        raise click.ClickException("No key found.")


def _asked() -> str:
    if sys.stdin is None:  # the process was started without it
        return ""
    if sys.stdin.isatty():
        text: str = click.prompt("Leaked key, or its first characters", hide_input=True, err=True)
        return text
    return sys.stdin.buffer.read().decode(errors="replace")


def _print(found: Iterable[Leak]) -> None:
    rows = [row for leak in found for row in _rows(leak)]
    if rows:
        headings = ("leaked", "match", "key", "name", "accounts", "last used", "state")
        for line in format_table(headings, rows, pretty=on_terminal()):
            click.echo(line)


def _rows(leak: Leak) -> Iterable[tuple[Cell, ...]]:
    now_ms = int(time.time() * 1000)
    match = "certain" if leak.is_whole else "first characters"
    for key in leak.keys:
        used = "never" if key.last_used_at_ms is None else show_time(key.last_used_at_ms)
        accounts = ",".join(key.account_ids) or None
        state = key.state(now_ms)
        yield leak.begins, match, key.key_id, key.name, accounts, used, state


def _print_next(found: Iterable[Leak], unfindable: int) -> None:
    for leak in found:
        if not leak.keys:
            click.echo(f"No key begins with {leak.begins}.", err=True)
        for key in leak.keys:
            if key.revoked_at_ms is None:
                click.echo(f"Next: tollgate keys revoke {key.key_id}", err=True)
            else:
                revoked = show_time(key.revoked_at_ms)
                click.echo(f"{key.key_id} has been revoked since {revoked}.", err=True)
    if unfindable:
        click.echo(
            f"{unfindable} older keys that were not used lately are found only by the whole key.",
            err=True,
        )
