"""`tollgate usage`: reports usage and costs from the ledger."""

import math
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, tzinfo

import click
from sqlalchemy import Engine

from app.cli.bom import bom_option, check_bom
from app.cli.columns import Columns
from app.cli.filters import ModelName, check_names, chosen
from app.cli.ledger import open_reports
from app.cli.report import FORMS, LABELS, Report
from app.cli.times import Moment, Zone, in_zone
from app.ledger.reports.known import first_day_s
from app.ledger.reports.query import GroupKey, UsageQuery, UsageRow
from app.ledger.reports.source import ReportSource
from app.ledger.reports.totals import merged, read_step, steps_of
from app.ledger.retention import pruned_until_s
from app.ledger.slots import SLOT_S, floor_to
from app.storage.sql.transactions import reading
from app.vocabulary.request import ENDPOINTS
from app.vocabulary.statuses import STATUSES

#: Column -> the ledger's group; `day` and `hour` are bucket widths instead.
GROUP_KEYS: Mapping[str, GroupKey] = {
    "account": "account",
    "model": "model",
    "vendor": "vendor",
    "key": "api_key",
    "user": "user",
    "status": "status",
    "endpoint": "endpoint",
}
WIDTHS_S: Mapping[str, int] = {"day": 86_400, "hour": 3_600}
#: A range of this many seconds may begin long before the first usage.
LONG_S = 400 * 86_400


@click.command("usage")
@click.argument("account_ids", metavar="[ACCOUNT]...", nargs=-1)
@click.option(
    "--since",
    type=Moment(local=True),
    default="30d",
    show_default=True,
    help="Start: 30d, 12h or 90m ago, or an ISO date or time in the time zone.",
)
@click.option(
    "--until", type=Moment(local=True), help="End of the range (exclusive); default: now."
)
@click.option(
    "--timezone",
    "zone",
    type=Zone(),
    default="UTC",
    show_default=True,
    help="Time zone of --since, --until, days and hours, from the IANA database.",
)
@click.option(
    "--by",
    type=Columns(tuple(LABELS)),
    help="Group by account, model, vendor, key, user, status, endpoint, day or hour; separate"
    " several with commas.  [default: account; with ACCOUNT, model]",
)
@click.option(
    "--model",
    "models",
    type=ModelName(),
    multiple=True,
    help="Only this model, by the name that callers requested. Repeatable.",
)
@click.option("--key", "keys", multiple=True, help="Only this API key, by its ID. Repeatable.")
@click.option(
    "--user",
    "users",
    multiple=True,
    help="Only requests with this `user`. Repeatable; reads entries.",
)
@click.option(
    "--status",
    "statuses",
    type=click.Choice(sorted(STATUSES)),
    multiple=True,
    help="Only requests that ended like this. Repeatable; reads entries.",
)
@click.option(
    "--endpoint",
    "endpoints",
    type=click.Choice(ENDPOINTS),
    multiple=True,
    help="Only requests to this endpoint; default: to all. Repeatable.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMS)),
    default="table",
    show_default=True,
    help="Output format; json and csv have all counts.",
)
@bom_option
def usage_command(
    *,
    since: datetime,
    until: datetime | None,
    zone: tzinfo,
    by: tuple[str, ...] | None,
    form: str,
    bom: bool,
    **names: tuple[str, ...],
) -> None:
    """Show the tokens and costs of each ACCOUNT, or of all accounts.

    `requests` counts all recorded requests; `failed` are those of them without a whole response.
    `?` marks a cost that leaves out requests with no known price. Users and statuses are read from
    entries, a day at a time, everything else from rollups.
    """
    check_bom(form, bom=bom)
    account_ids, span_s = names["account_ids"], _range(since, until, zone)
    by = by or (("model",) if account_ids else ("account",))
    with open_reports() as source:
        query = _query(source.engine, names, span_s, by)
        rows = _rows(source, query, by, zone)
    _print_idle_users(names["users"], rows)
    subject = ", ".join(account_ids) or "All accounts"
    span = {"start_s": query.start_s, "end_s": query.end_s}
    shown = rows if "user" in by else merged(replace(row, user=None) for row in rows)
    FORMS[form](Report(subject=subject, **span, by=by, rows=shown, zone=zone, bom=bom))


def _range(since: datetime, until: datetime | None, zone: tzinfo) -> tuple[int, int]:
    """Return the range in Unix seconds; no end is the end of the ledger's current slot.

    Rollups cover that slot, and nothing is later.
    """
    start_s = math.floor(in_zone(since, zone).timestamp())
    if until is None:
        end_s = floor_to(int(time.time()), SLOT_S) + SLOT_S
    else:
        end_s = math.ceil(in_zone(until, zone).timestamp())
    if start_s >= end_s:
        raise click.UsageError("--since must be before --until")
    return start_s, end_s


def _earliest_start(engine: Engine, start_s: int) -> int:
    """Return the start; if its entries were pruned, the start of its 15-minute slot."""
    with reading(engine) as connection:
        pruned = start_s < pruned_until_s(connection)
    return floor_to(start_s, SLOT_S) if pruned else start_s


def _query(
    engine: Engine,
    names: Mapping[str, tuple[str, ...]],
    span_s: tuple[int, int],
    by: tuple[str, ...],
) -> UsageQuery:
    """Return the query.

    Raises: ClickException that names the first account, key or model that is unknown.
    """
    account_ids, keys, models = names["account_ids"], names["keys"], names["models"]
    check_names(engine, account_ids=account_ids, api_key_ids=keys, models=models)
    groups = [GROUP_KEYS[name] for name in by if name in GROUP_KEYS]
    if names["users"]:  # to see which of them have usage
        groups.append("user")
    return UsageQuery(
        start_s=_earliest_start(engine, span_s[0]),
        end_s=span_s[1],
        account_ids=chosen(account_ids),
        api_key_ids=chosen(keys),
        models=chosen(models),
        users=chosen(names["users"]),
        statuses=chosen(names["statuses"]),
        endpoints=chosen(names["endpoints"]),
        group_by=tuple(dict.fromkeys(groups)),
    )


def _shortened(query: UsageQuery, engine: Engine) -> UsageQuery:
    """Return the query without the days before the first usage and after tomorrow.

    There may be millions of them.
    """
    if query.end_s - query.start_s < LONG_S:
        return query
    first_s = first_day_s(engine)
    start_s = query.start_s if first_s is None else max(query.start_s, first_s)
    end_s = min(query.end_s, max(start_s, int(time.time())) + 2 * WIDTHS_S["day"])
    return replace(query, start_s=start_s, end_s=end_s)


def _rows(
    source: ReportSource, query: UsageQuery, by: tuple[str, ...], zone: tzinfo
) -> list[UsageRow]:
    """Return the rows; while entries of several days are read, a terminal shows how far that is."""
    width_s = next((WIDTHS_S[name] for name in by if name in WIDTHS_S), None)
    query, reader = _shortened(query, source.engine), source.usage
    steps = steps_of(query, width_s, zone)
    hidden = len(steps) == 1 or not sys.stderr.isatty()
    with click.progressbar(steps, label="Days", file=sys.stderr, hidden=hidden) as bar:
        return merged(row for step in bar for row in read_step(reader, query, step, width_s))


def _print_idle_users(users: tuple[str, ...], rows: list[UsageRow]) -> None:
    """Name the users without usage: the ledger has no list of users, so one may be a mistake."""
    for user in sorted(set(users) - {row.user for row in rows}):
        click.echo(f"No request of the user {user!r} is recorded in this range.", err=True)
