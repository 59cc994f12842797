"""`tollgate requests`: lists requests, and shows why one failed."""

import json
import math
from collections.abc import Mapping
from datetime import datetime

import click

from app.cli.bom import bom_option, check_bom
from app.cli.filters import ModelName, check_names, chosen
from app.cli.ledger import open_reports
from app.cli.request_forms import FORMS
from app.cli.request_page import request_lines
from app.cli.times import Moment
from app.ledger.reports.lookup import NOT_FOUND, as_object
from app.ledger.reports.query import UsageQuery
from app.vocabulary.request import ENDPOINTS
from app.vocabulary.statuses import STATUSES

#: The most requests in one list; a narrower range shows the others.
LIST_LIMIT = 1_000
#: Later than any request, in Unix seconds.
END_OF_TIME_S = 2**40


@click.group()
def requests() -> None:
    """List requests, and show why one failed."""


@requests.command("show")
@click.argument("any_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object with all fields.")
def show_request(any_id: str, *, as_json: bool) -> None:
    """Show the request ID: its usage, its cost, and why it failed.

    ID is a request id (`x-request-id` of the response), a vendor's request id, or an event id. If
    several requests have it, the newest is shown.
    """
    with open_reports() as source:
        found = source.lookup.find(any_id.strip())
    if not found:
        raise click.ClickException(NOT_FOUND)
    if as_json:
        click.echo(json.dumps(as_object(found), indent=2))
        return
    for line in request_lines(found[0]):
        click.echo(line)
    for entry in found[1:]:
        click.echo(f"Also with this id: tollgate requests show {entry.event.event_id}")


@requests.command("list")
@click.option("--account", "accounts", multiple=True, metavar="ID", help="Only of this account.")
@click.option("--key", "keys", multiple=True, metavar="ID", help="Only made with this API key.")
@click.option("--model", "models", multiple=True, type=ModelName(), help="Only of this model.")
@click.option("--user", "users", multiple=True, metavar="NAME", help="Only of this `user`.")
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice(sorted(STATUSES)),
    help="Only with this status.",
)
@click.option(
    "--endpoint",
    "endpoints",
    multiple=True,
    type=click.Choice(ENDPOINTS),
    help="Only to this endpoint.",
)
@click.option(
    "--since",
    type=Moment(),
    default="24h",
    show_default=True,
    help="Start: 30d, 12h or 90m ago, or an ISO date or time in UTC.",
)
@click.option("--until", type=Moment(), help="End of the range (exclusive); default: now.")
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMS)),
    default="table",
    show_default=True,
    help="Output format; json and csv have more fields.",
)
@bom_option
@click.option(
    "--limit",
    type=click.IntRange(1, LIST_LIMIT),
    default=50,
    show_default=True,
    help="Most requests to list.",
)
def list_requests(
    *,
    statuses: tuple[str, ...],
    since: datetime,
    until: datetime | None,
    limit: int,
    form: str,
    bom: bool,
    **wanted: tuple[str, ...],
) -> None:
    """List the newest requests. Repeat an option to name several."""
    if until is not None and since >= until:
        raise click.UsageError("--since must be before --until")
    check_bom(form, bom=bom)
    query = _query(since, until, wanted)
    with open_reports() as source:
        check_names(
            source.engine,
            account_ids=wanted["accounts"],
            api_key_ids=wanted["keys"],
            models=wanted["models"],
        )
        found = source.recent.requests(query, limit + 1, statuses=frozenset(statuses) or None)
    if not found:
        click.echo("No requests in this range. `--since 30d` looks further back.", err=True)
    FORMS[form](found[:limit], bom)
    if len(found) > limit:
        click.echo(f"There are more than these {limit}: use --until or --limit.", err=True)
    if found:
        click.echo("Why one failed: tollgate requests show REQUEST", err=True)


def _query(
    since: datetime, until: datetime | None, wanted: Mapping[str, tuple[str, ...]]
) -> UsageQuery:
    return UsageQuery(
        start_s=math.floor(since.timestamp()),
        end_s=END_OF_TIME_S if until is None else math.ceil(until.timestamp()),
        account_ids=chosen(wanted["accounts"]),
        api_key_ids=chosen(wanted["keys"]),
        models=chosen(wanted["models"]),
        users=chosen(wanted["users"]),
        endpoints=chosen(wanted["endpoints"]),
    )
