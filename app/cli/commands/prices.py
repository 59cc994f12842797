"""`tollgate prices`: shows prices, lists unpriced usage, and re-prices requests."""

import json
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from importlib import import_module
from typing import Any

import click

from app.cli.actor import cli_actor, record_after
from app.cli.ledger import open_ledger, open_reports
from app.cli.output import write_whole
from app.cli.tables import Cell, format_table, on_terminal
from app.cli.times import Moment, show_time
from app.ledger.repricing import count_entries, past_repricings, reprice
from app.ledger.unpriced import Unpriced, unpriced
from app.pricing.price import EffectivePeriod, Price
from app.pricing.price_book import PriceBook, load_prices
from app.pricing.rates import RATE_NAMES
from app.pricing.snapshot import SNAPSHOT_FILE
from app.settings import prices_file
from app.storage.sql.audit import Change
from app.vocabulary.money import dollars


@click.group("prices")
def prices() -> None:
    """Show prices, list usage without a known price, and re-price requests.

    A request is priced when it is posted, with the price that was effective when it started. New
    prices do not affect posted requests until you run `tollgate prices update`.
    """


@prices.command("show")
@click.argument("model", metavar="VENDOR/NAME")
@click.option(
    "--at",
    "moment",
    type=Moment(),
    help="Date or time (ISO, UTC), or age such as 30d; default: now.",
)
@click.option("--tier", help="Service tier that the vendor reports, such as flex.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show(model: str, moment: datetime | None, tier: str | None, as_json: bool) -> None:
    """Show a model's price in dollars per million tokens, and since when it is effective.

    Exits with 1 if the price is unknown.
    """
    period, price = _price_of(model, moment, tier)
    rates = list(_rates(price))
    if as_json:
        shown = {
            "model": model,
            "service_tier": tier,
            "price_id": price.price_id,
            "in_force_from": period.from_day and period.from_day.isoformat(),
            "usd_per_million_tokens": rates,
        }
        click.echo(json.dumps(shown, indent=2))
        return
    since = f"effective from {period.from_day} (UTC)" if period.from_day else "always effective"
    if period.daily_s:
        since += ", at this time of day"
    click.echo(f"{model}: {price.price_id}, {since}, in dollars per million tokens", err=True)
    rows = [[tier["above_prompt_tokens"], *(tier[kind] for kind in RATE_NAMES)] for tier in rates]
    for line in format_table(["above prompt tokens", *RATE_NAMES], rows, pretty=on_terminal()):
        click.echo(line)


def _price_of(
    model: str, moment: datetime | None, tier: str | None
) -> tuple[EffectivePeriod, Price]:
    vendor, _, name = model.partition("/")
    if not vendor or not name:
        raise click.UsageError(f"The model must be VENDOR/NAME, not {model!r}.")
    at_ms = None if moment is None else math.floor(moment.timestamp() * 1000)
    period, price = load_prices(prices_file()).effective(vendor, name, at_ms=at_ms, tier=tier)
    if price is None:
        in_tier = f" in the service tier {tier}" if tier else ""
        raise click.ClickException(
            f"The price of {model}{in_tier} is unknown. Add it to a file, whose path is in"
            " TOLLGATE_PRICES; config/prices.toml describes the format."
        )
    return period, price


def _rates(price: Price) -> Iterator[dict[str, Any]]:
    for above, rates in price.tiers:
        amounts = {kind: dollars(nanousd) for kind, nanousd in asdict(rates).items()}
        yield {"above_prompt_tokens": max(0, above), **amounts}


@prices.command("missing")
@click.option(
    "--since", type=Moment(), default="30d", show_default=True, help="Start of the range."
)
@click.option("--until", type=Moment(), help="End of the range (exclusive); default: now.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def missing(since: datetime, until: datetime | None, as_json: bool) -> None:
    """List models that were used without a known price, those with the most tokens first.

    If the price is known now, `tollgate prices update` applies it.
    """
    start_ms, end_ms = _range(since, until)
    book = load_prices(prices_file())
    with open_reports() as source:
        found = unpriced(source.engine, start_ms, end_ms, book)
    if as_json:
        shown = [asdict(it) | {"known_now": _known_now(book, it)} for it in found]
        click.echo(json.dumps(shown, indent=2))
        return
    if not found:
        click.echo("All usage has a price.", err=True)
        return
    rows: list[list[Cell]] = [
        [
            f"{it.vendor}/{it.model}" + (f" ({it.service_tier})" if it.service_tier else ""),
            f"{it.vendor}/{it.asked}",
            it.requests,
            it.tokens,
            show_time(it.last_started_at_ms),
            "yes" if _known_now(book, it) else "no",
        ]
        for it in found
    ]
    headings = ("served", "requested", "requests", "tokens", "last used", "price known now")
    for line in format_table(headings, rows, pretty=on_terminal()):
        click.echo(line)


def _known_now(book: PriceBook, it: Unpriced) -> bool:
    at_ms, tier = it.last_started_at_ms, it.service_tier
    return book.price(it.vendor, it.model, it.asked, at_ms=at_ms, tier=tier) is not None


@prices.command("update")
@click.option(
    "--since", type=Moment(), required=True, help="Start of the range: an ISO date or time, or 30d."
)
@click.option("--until", type=Moment(), help="End of the range (exclusive); default: now.")
def update(since: datetime, until: datetime | None) -> None:
    """Re-price the requests of a range with the prices that are known now.

    Each call is priced with the price that was effective when its request started. Requests whose
    price is still unknown, or whose entries were pruned, keep their cost. The command prints the
    prices that it applied; `tollgate prices log` lists all re-pricings. Budgets count lower costs
    at once and higher costs within a minute. If it is interrupted, run it again.
    """
    start_ms, end_ms = _range(since, until)
    book = load_prices(prices_file())
    changed = added_nanousd = 0
    price_ids = Counter[str | None]()
    with open_ledger() as engine:
        length = count_entries(engine, start_ms, end_ms)
        with click.progressbar(length=length, label="Entries", file=sys.stderr) as bar:
            for batch in reprice(engine, book, start_ms, end_ms, actor=cli_actor()):
                changed += batch.changed
                added_nanousd += batch.added_nanousd
                price_ids += batch.price_ids
                bar.update(batch.examined)
            bar.finish()
    for price_id, count in price_ids.most_common():
        click.echo(
            f"{count} now have {price_id or 'no cost, because they used no tokens'}", err=True
        )
    click.echo(f"{changed} of {length} entries changed, by {_signed(added_nanousd)} in total.")


@prices.command("log")
def log() -> None:
    """List the re-pricings and the changes of cost, the latest first."""
    with open_ledger() as engine:
        found = past_repricings(engine)
    rows: list[list[Cell]] = [
        [
            show_time(it.started_at_ms),
            show_time(it.start_ms),
            show_time(it.end_ms),
            it.changed_entries,
            _signed(it.added_nanousd),
        ]
        for it in found
    ]
    for line in format_table(
        ("time", "requests from", "to", "changed entries", "change"), rows, pretty=on_terminal()
    ):
        click.echo(line)


@prices.command("import")
def import_prices() -> None:
    """Update config/prices.json from the installed package genai-prices, without network access.

    Prints how many models' prices changed. Restart the workers: they read the file at start.
    """
    try:
        source = import_module("app.pricing.price_import")
    except ModuleNotFoundError as exc:
        raise click.ClickException(
            f"{exc.name} is not installed. Run: pip install -e '.[prices]'"
        ) from exc
    before, after = json.loads(SNAPSHOT_FILE.read_bytes()), source.snapshot_rows()
    write_whole(SNAPSHOT_FILE, source.encode_rows(after))
    versions = [before["version"], after["version"]]
    record_after(Change("prices.import", detail={"genai_prices": versions}))
    old, new = _models(before), _models(after)
    changed = sum(old[key] != new[key] for key in old.keys() & new.keys())
    added, removed = len(new.keys() - old.keys()), len(old.keys() - new.keys())
    counts = f"{added} models added, {changed} changed, {removed} removed"
    click.echo(f"From {versions[0]} to {versions[1]}: {counts}.")


def _models(rows: dict[str, Any]) -> dict[tuple[str, str], Any]:
    return {
        (name, model["id"]): model
        for name, provider in rows["providers"].items()
        for model in provider["models"]
    }


def _range(since: datetime, until: datetime | None) -> tuple[int, int]:
    end_s = time.time() if until is None else until.timestamp()
    start_ms, end_ms = math.floor(since.timestamp() * 1000), math.ceil(end_s * 1000)
    if start_ms >= end_ms:
        raise click.UsageError("--since must be before --until")
    return start_ms, end_ms


def _signed(nanousd: int) -> str:
    return f"{'-' if nanousd < 0 else '+'}${dollars(abs(nanousd))}"
