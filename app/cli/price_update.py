"""`tollgate prices update`: re-prices requests, or shows what that would change."""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path

import click
from sqlalchemy import Engine

from app.cli.actor import cli_actor
from app.cli.filters import ModelName, check_names, chosen
from app.cli.ledger import open_ledger
from app.cli.tables import Cell, format_table, on_terminal
from app.cli.times import Moment, range_ms
from app.ledger.repricing import count_entries, preview, reprice
from app.ledger.repricing_plan import CostChange, RepricingBatch, Scope
from app.pricing.live_prices import TAKEN_WITHIN_S, prices_version
from app.pricing.price_book import load_prices
from app.settings import prices_file
from app.vocabulary.money import dollars

#: Seconds after a change of the price file in which a worker may still post with the prices of
#: before: a run that posts a backlog takes 10 s.
OLD_PRICES_S = TAKEN_WITHIN_S + 10


@dataclass(slots=True)
class _Result:
    """The sum of all batches."""

    changed: int = 0
    added_nanousd: int = 0
    price_ids: Counter[str | None] = field(default_factory=Counter)
    changes: defaultdict[tuple[str, str], CostChange] = field(
        default_factory=lambda: defaultdict(lambda: CostChange(0, 0, 0))
    )

    def add(self, batch: RepricingBatch) -> None:
        self.changed += batch.changed
        self.added_nanousd += batch.added_nanousd
        self.price_ids += batch.price_ids
        for key, it in batch.changes.items():
            known = self.changes[key]
            self.changes[key] = CostChange(*(a + b for a, b in zip(known, it, strict=True)))


@click.command("update")
@click.option(
    "--since", type=Moment(), required=True, help="Start of the range: an ISO date or time, or 30d."
)
@click.option("--until", type=Moment(), help="End of the range (exclusive); default: now.")
@click.option(
    "--model",
    "models",
    type=ModelName(),
    multiple=True,
    help="Only requests for this model, by the name that callers requested. Repeatable.",
)
@click.option(
    "--account", "accounts", multiple=True, help="Only requests of this account. Repeatable."
)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
def update(
    since: datetime,
    until: datetime | None,
    models: tuple[str, ...],
    accounts: tuple[str, ...],
    dry_run: bool,
) -> None:
    """Re-price the requests of a range with the prices that are known now.

    Each call is priced with the price that was effective when its request started. Requests whose
    price is still unknown, or whose entries were pruned, keep their cost. The command prints the
    prices that it applied; `tollgate prices log` lists all re-pricings. Budgets count lower costs
    at once and higher costs within a minute. If it is interrupted, run it again.

    Workers and web processes take a changed price file within 10 seconds, without a restart.
    """
    span, path = range_ms(since, until), prices_file()
    scope = Scope(account_ids=chosen(accounts), models=chosen(models))
    with open_ledger() as engine:
        check_names(engine, account_ids=accounts, models=models)
        _print_prices(path)
        length = count_entries(engine, *span, scope=scope)
        result = _run(engine, path, span, scope, length, dry_run=dry_run)
    _print_result(result, length, dry_run=dry_run)


def _print_result(result: _Result, length: int, *, dry_run: bool) -> None:
    if dry_run:
        for line in _table(result):
            click.echo(line)
        change = f"would change, by {signed(result.added_nanousd)} in total. Nothing was changed."
    else:
        for price_id, count in result.price_ids.most_common():
            name = price_id or "no cost, because they used no tokens"
            click.echo(f"{count} now have {name}", err=True)
        change = f"changed, by {signed(result.added_nanousd)} in total."
    click.echo(f"{result.changed} of {length} entries {change}")


def _run(
    engine: Engine,
    path: Path | None,
    span: tuple[int, int],
    scope: Scope,
    length: int,
    *,
    dry_run: bool,
) -> _Result:
    result, run = _Result(), preview if dry_run else partial(reprice, actor=cli_actor())
    with click.progressbar(length=length, label="Entries", file=sys.stderr) as bar:
        for batch in run(engine, load_prices(path), *span, scope=scope):
            result.add(batch)
            bar.update(batch.examined)
        bar.finish()
    return result


def _print_prices(path: Path | None) -> None:
    """Say which prices are applied, and whether workers may still have those of before."""
    own = f"{path}, over those that come with Tollgate" if path else "those that come with Tollgate"
    click.echo(f"Prices: {own}; version {prices_version(path)}", err=True)
    age_s = time.time() - path.stat().st_mtime if path else OLD_PRICES_S
    if 0 <= age_s < OLD_PRICES_S:
        click.echo(
            f"The file changed {age_s:.0f} s ago. Workers take it within {TAKEN_WITHIN_S} s, and"
            " log this version. What they post until then has the prices of before: run the"
            f" command again in {OLD_PRICES_S} s.",
            err=True,
        )


def _table(result: _Result) -> Iterator[str]:
    rows: list[list[Cell]] = [
        [
            account,
            model,
            it.requests,
            f"${dollars(it.old_nanousd)}",
            f"${dollars(it.new_nanousd)}",
            signed(it.new_nanousd - it.old_nanousd),
        ]
        for (account, model), it in sorted(result.changes.items())
    ]
    if rows:
        headings = ("account", "model", "requests", "cost now", "new cost", "change")
        yield from format_table(headings, rows, pretty=on_terminal())


def signed(nanousd: int) -> str:
    """Return an amount in dollars with its sign."""
    return f"{'-' if nanousd < 0 else '+'}${dollars(abs(nanousd))}"
