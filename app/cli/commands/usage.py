"""`tollgate usage`: reports usage and costs from the ledger."""

import math
import time
from collections.abc import Mapping
from datetime import datetime

import click
from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.cli.columns import Columns
from app.cli.ledger import open_reports
from app.cli.report import FORMS, LABELS, Report
from app.cli.times import Moment
from app.ledger.reports.query import GroupKey, UsageQuery
from app.ledger.retention import pruned_until_s
from app.ledger.slots import SLOT_S, floor_to
from app.storage.sql.transactions import reading

#: Column -> the ledger's group; `day` and `hour` are bucket widths instead.
GROUP_KEYS: Mapping[str, GroupKey] = {
    "account": "account",
    "model": "model",
    "vendor": "vendor",
    "key": "api_key",
    "user": "user",
}
WIDTHS_S: Mapping[str, int] = {"day": 86_400, "hour": 3_600}


@click.command("usage")
@click.argument("account_id", metavar="[ACCOUNT]", required=False)
@click.option(
    "--since",
    type=Moment(),
    default="30d",
    show_default=True,
    help="Start: 30d, 12h or 90m ago, or an ISO date or time in UTC.",
)
@click.option("--until", type=Moment(), help="End of the range (exclusive); default: now.")
@click.option(
    "--by",
    type=Columns(tuple(LABELS)),
    help="Group by account, model, vendor, key, user, day or hour; separate several with commas."
    "  [default: account; with ACCOUNT, model]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMS)),
    default="table",
    show_default=True,
    help="Output format; json and csv have all counts.",
)
def usage_command(
    account_id: str | None,
    since: datetime,
    until: datetime | None,
    by: tuple[str, ...] | None,
    form: str,
) -> None:
    """Show the tokens and costs of ACCOUNT, or of all accounts.

    `requests` counts every recorded request; `failed` are those of them without a whole response.
    `?` marks a cost that leaves out requests with no known price.
    """
    start_s = math.floor(since.timestamp())
    end_s = _end_of_slot_s() if until is None else math.ceil(until.timestamp())
    if start_s >= end_s:
        raise click.UsageError("--since must be before --until")
    by = by or (("model",) if account_id else ("account",))
    with open_reports() as source:
        if account_id and not Accounts(source.engine).exists(account_id):
            raise click.ClickException(
                f"There is no account {account_id}. List the accounts: tollgate accounts list"
            )
        start_s = _earliest_start(source.engine, start_s)
        rows = source.usage.rows(_query(account_id, start_s, end_s, by))
    subject = account_id or "All accounts"
    FORMS[form](Report(subject=subject, start_s=start_s, end_s=end_s, by=by, rows=rows))


def _end_of_slot_s() -> int:
    """Return the end of the ledger's current slot: rollups cover it, and nothing is later."""
    return floor_to(int(time.time()), SLOT_S) + SLOT_S


def _earliest_start(engine: Engine, start_s: int) -> int:
    """Return the start; if its entries were pruned, the start of its 15-minute slot."""
    with reading(engine) as connection:
        pruned = start_s < pruned_until_s(connection)
    return floor_to(start_s, SLOT_S) if pruned else start_s


def _query(account_id: str | None, start_s: int, end_s: int, by: tuple[str, ...]) -> UsageQuery:
    return UsageQuery(
        start_s=start_s,
        end_s=end_s,
        bucket_s=next((WIDTHS_S[name] for name in by if name in WIDTHS_S), None),
        account_ids=frozenset({account_id}) if account_id else None,
        group_by=tuple(GROUP_KEYS[name] for name in by if name in GROUP_KEYS),
    )
