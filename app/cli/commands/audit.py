"""`tollgate audit`: lists who changed what, and when."""

import json
from dataclasses import asdict
from datetime import datetime

import click

from app.accounts.audit_text import detail_text
from app.cli.filters import check_names
from app.cli.ledger import open_ledger
from app.cli.tables import Cell, format_table, on_terminal
from app.cli.times import Moment, range_ms, show_time
from app.storage.sql.audit import AuditEntry, AuditQuery, audit_entries


@click.group("audit")
def audit() -> None:
    """List who changed accounts, keys, limits, prices and entries, and when."""


@audit.command("list")
@click.option(
    "--since", type=Moment(), default="30d", show_default=True, help="Start of the range."
)
@click.option("--until", type=Moment(), help="End of the range (exclusive); default: now.")
@click.option("--account", "account_id", help="Only changes of this account and of its keys.")
@click.option("--key", "api_key_id", help="Only changes of this key, by its ID.")
@click.option(
    "--actor", help="Only changes by this actor: as listed, or an admin key's ID (dashboard)."
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def list_audit(
    *,
    since: datetime,
    until: datetime | None,
    account_id: str | None,
    api_key_id: str | None,
    actor: str | None,
    as_json: bool,
) -> None:
    """List changes, newest first. Commands record TOLLGATE_ACTOR, or the system's user and host."""
    since_ms, until_ms = range_ms(since, until)
    query = AuditQuery(
        since_ms=since_ms,
        until_ms=None if until is None else until_ms,
        account_id=account_id,
        api_key_id=api_key_id,
        actor=actor,
    )
    with open_ledger() as engine:
        check_names(engine, account_ids=_given(account_id), api_key_ids=_given(api_key_id))
        found = audit_entries(engine, query)
    if as_json:
        click.echo(json.dumps([_as_dict(entry) for entry in found], indent=2))
    elif found:
        headings = ("time", "actor", "by", "action", "accounts", "key", "detail")
        for line in format_table(headings, [_row(it) for it in found], pretty=on_terminal()):
            click.echo(line)
    else:
        click.echo("No changes in this range.", err=True)


def _given(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _row(entry: AuditEntry) -> tuple[Cell, ...]:
    change = entry.change
    return (
        show_time(entry.at_ms),
        entry.actor,
        entry.channel,
        change.action,
        ",".join(change.account_ids) or None,
        change.api_key_id,
        detail_text(change.detail) or None,
    )


def _as_dict(entry: AuditEntry) -> dict[str, object]:
    fields: dict[str, object] = asdict(entry)
    del fields["change"]
    return fields | asdict(entry.change)
