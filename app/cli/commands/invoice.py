"""`tollgate invoice`: one account's month, with lines that add up to the cent."""

import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import tzinfo
from pathlib import Path

import click

from app.accounts.accounts import Account, Accounts
from app.cli.bom import bom_option, check_bom
from app.cli.columns import Columns
from app.cli.completeness import read_completeness
from app.cli.invoice_forms import as_csv, as_json
from app.cli.invoice_page import as_html
from app.cli.ledger import open_reports
from app.cli.output import write_whole
from app.cli.times import Zone
from app.ledger.invoices.invoice import Invoice, InvoiceReader
from app.ledger.invoices.lines import GroupBy, InvoiceLine, merged
from app.ledger.invoices.month import Month
from app.ledger.invoices.origin import read_origin
from app.ledger.reports.source import ReportSource

FORMS: Mapping[str, Callable[[Invoice], str]] = {"csv": as_csv, "json": as_json, "html": as_html}

#: The option's word -> what lines are by.
GROUPS: Mapping[str, GroupBy] = {"key": "api_key", "endpoint": "endpoint"}


class MonthName(click.ParamType[Month]):
    """A month of the calendar, such as 2026-11."""

    name = "month"

    def convert(
        self, value: str | Month, param: click.Parameter | None, ctx: click.Context | None
    ) -> Month:
        """Return the month, in UTC."""
        if isinstance(value, Month):
            return value
        match = re.fullmatch(r"(19[7-9][0-9]|2[0-9]{3})-(0[1-9]|1[0-2])", value)
        if match is None:
            self.fail(f"must be a month, such as 2026-11, not {value!r}", param, ctx)
        return Month(int(match[1]), int(match[2]))


@click.command("invoice")
@click.argument("account_id", metavar="ACCOUNT")
@click.option("--month", type=MonthName(), required=True, help="The month, such as 2026-11.")
@click.option(
    "--timezone",
    "zone",
    type=Zone(),
    default="UTC",
    show_default=True,
    help="Time zone in which the month begins and ends, from the IANA database.",
)
@click.option(
    "--by",
    type=Columns(tuple(GROUPS)),
    default=(),
    help="A line for each key or endpoint, too, not only each model; separate both with a comma.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMS)),
    default="csv",
    show_default=True,
    help="Format.",
)
@bom_option
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write this file, which is replaced as a whole; default: stdout.",
)
def invoice_command(
    *,
    account_id: str,
    month: Month,
    zone: tzinfo,
    by: tuple[str, ...],
    form: str,
    bom: bool,
    output: Path | None,
) -> None:
    """Print ACCOUNT's invoice for a month: a line for each model and unit price.

    The lines add up to the total, which is the ledger's exact sum, rounded to the cent. Requests
    without a known price are on lines of their own, without an amount. The invoice says how its
    numbers were got.

    It is a draft until the month has ended and all of its usage is posted. To know that, the
    command reads Redis, if REDIS_URL is set.
    """
    check_bom(form, bom=bom)
    local = Month(month.year, month.number, zone)
    if local.start_s > time.time():
        raise click.UsageError(f"--month {month} has not begun")
    with open_reports() as source:
        account = _account(source, account_id)
        invoice = read_invoice(source, account, local, by=[GROUPS[name] for name in by])
    for reason in invoice.draft_reasons():
        click.echo(f"Draft: {reason}", err=True)
    _write(as_csv(invoice, bom=bom) if form == "csv" else FORMS[form](invoice), output)


def _write(text: str, output: Path | None) -> None:
    if output is None:
        click.echo(text, nl=False)
    else:
        write_whole(output, text.encode())


def _account(source: ReportSource, account_id: str) -> Account:
    found = [it for it in Accounts(source.engine).list() if it.account_id == account_id]
    if not found:
        raise click.ClickException(
            f"There is no account {account_id}. List the accounts: tollgate accounts list"
        )
    return found[0]


def read_invoice(
    source: ReportSource, account: Account, month: Month, *, by: Sequence[GroupBy]
) -> Invoice:
    """Return an account's invoice. A terminal shows how far the reading is.

    Raises: UsagePruned, LedgerUnavailable.
    """
    # Before the usage: what is posted in between only makes the invoice more complete.
    completeness, read_at_s = read_completeness(source), time.time()
    reader, lines = InvoiceReader(source.engine), list[InvoiceLine]()
    steps = reader.steps(month)
    with click.progressbar(
        steps, label="Days", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        for step in bar:
            lines = merged([*lines, *reader.lines(account.account_id, step, by=by)])
    return Invoice(
        account_id=account.account_id,
        account_name=account.name,
        month=month,
        read_at_s=read_at_s,
        lines=tuple(lines),
        totals=reader.totals(account.account_id, month),
        origin=read_origin(
            source.engine, account.account_id, month, completeness, is_replica=source.is_replica
        ),
    )
