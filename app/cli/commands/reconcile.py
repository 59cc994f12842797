"""`tollgate reconcile`: compares what was opened, the stream, the spool and the ledger."""

from pathlib import Path

import click

from app.cli.reconcile_bill import reconcile_bill
from app.cli.reconcile_books import reconcile_books
from app.cli.reconcile_log import reconcile_log


@click.command("reconcile")
@click.option(
    "--rebuild",
    "rebuilds",
    is_flag=True,
    help="Recompute the rollups that differ from their entries. Posting continues.",
)
@click.option(
    "--bill",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Compare a vendor's bill with the ledger instead: pages of OpenAI's usage API by day and"
    " model in JSON, or a CSV file of day, model, tokens.",
)
@click.option(
    "--vendor",
    "vendors",
    multiple=True,
    help="Vendor entry that the bill belongs to; repeat the option for several.  [default: openai]",
)
@click.option(
    "--write-off",
    "writes_off",
    is_flag=True,
    help="Give up usage that is missing: count it as posted from now on.",
)
@click.option(
    "--from-log",
    "log",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="Post the events of a web process's log instead: those that neither Redis nor the spool"
    " took. `-` reads stdin.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def reconcile(
    *,
    rebuilds: bool,
    bill: Path | None,
    vendors: tuple[str, ...],
    writes_off: bool,
    log: Path | None,
    as_json: bool,
) -> None:
    """Check that the stream, open requests, the spool of this host and the ledger agree.

    Every request that a web process has opened is in one of them, or it is missing. Usage in flight
    is not a problem. Exits with 1 if anything disagrees, is missing, dead-lettered or orphaned, and
    prints what to do on stderr.
    """
    if sum((rebuilds or writes_off, bill is not None, log is not None)) > 1:
        raise click.UsageError(
            "--bill and --from-log are commands of their own: use one of them alone, without"
            " --rebuild and --write-off."
        )
    if vendors and bill is None:
        raise click.UsageError("--vendor needs --bill FILE, the bill of that vendor.")
    if bill is not None:
        reconcile_bill(bill, vendors or ("openai",), as_json)
    elif log is not None:
        reconcile_log(log, as_json)
    else:
        reconcile_books(rebuilds, writes_off, as_json)
