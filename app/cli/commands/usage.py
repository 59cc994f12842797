"""`tollgate usage`: what was used, by whom and of what, from the ledger."""

import math
import time
from collections.abc import Mapping
from datetime import datetime

import click
from sqlalchemy import Engine

from app.accounts.accounts import Accounts
from app.cli.ledger import open_ledger
from app.cli.report import FORMS, LABELS, Report
from app.cli.times import Moment
from app.ledger.reports.query import GroupKey, UsageQuery
from app.ledger.reports.reader import UsageReader
from app.ledger.retention import pruned_until_s
from app.ledger.slots import SLOT_S, floor_to
from app.storage.sql.transactions import reading

#: Column -> what the ledger groups by; `day` and `hour` are widths of time instead.
GROUP_KEYS: Mapping[str, GroupKey] = {
    "account": "account",
    "model": "model",
    "vendor": "vendor",
    "key": "api_key",
    "user": "user",
}
WIDTHS_S: Mapping[str, int] = {"day": 86_400, "hour": 3_600}


class Columns(click.ParamType[tuple[str, ...]]):
    """Names of columns to sum by, with commas between them."""

    name = "columns"

    def convert(
        self,
        value: str | tuple[str, ...],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, ...]:
        """Return the names in the order they were given, each once."""
        if isinstance(value, tuple):
            return value
        names = tuple(dict.fromkeys(value.split(",")))
        for name in names:
            if name not in LABELS:
                self.fail(f"{name!r} is none of {', '.join(LABELS)}", param, ctx)
        if "day" in names and "hour" in names:
            self.fail("`hour` shows the day, too: give one of them", param, ctx)
        return names


@click.command("usage")
@click.argument("account_id", metavar="[ACCOUNT]", required=False)
@click.option(
    "--since",
    type=Moment(),
    default="30d",
    show_default=True,
    help="Start: 30d, 12h or 90m ago, or an ISO date or time in UTC.",
)
@click.option("--until", type=Moment(), help="End, not included; the default is now.")
@click.option(
    "--by",
    type=Columns(),
    help="Sum by account, model, vendor, key, user, day, hour: one, or several with commas"
    " between them.  [default: account; of one ACCOUNT, model]",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMS)),
    default="table",
    show_default=True,
    help="json and csv carry every count, for scripts.",
)
def usage_command(
    account_id: str | None,
    since: datetime,
    until: datetime | None,
    by: tuple[str, ...] | None,
    form: str,
) -> None:
    """Show the tokens that were used and what they cost, of ACCOUNT or of all accounts.

    `requests` are those that did not fail; tokens and costs of failed ones are in the sums. A cost
    with a question mark lacks requests whose price is not known.
    """
    start_s = math.floor(since.timestamp())
    end_s = _end_of_slot_s() if until is None else math.ceil(until.timestamp())
    if start_s >= end_s:
        raise click.UsageError("--since must be before --until")
    by = by or (("model",) if account_id else ("account",))
    with open_ledger() as engine:
        if account_id and not Accounts(engine).exists(account_id):
            raise click.ClickException(
                f"There is no account {account_id}. See them: tollgate accounts list"
            )
        start_s = _earliest_start(engine, start_s)
        rows = UsageReader(engine).rows(_query(account_id, start_s, end_s, by))
    subject = account_id or "All accounts"
    FORMS[form](Report(subject=subject, start_s=start_s, end_s=end_s, by=by, rows=rows))


def _end_of_slot_s() -> int:
    """Return the end of the ledger's present slot: rollups reach to it, and nothing is later."""
    return floor_to(int(time.time()), SLOT_S) + SLOT_S


def _earliest_start(engine: Engine, start_s: int) -> int:
    """Return the start, or the quarter of an hour in which it is where there is no more to tell."""
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
