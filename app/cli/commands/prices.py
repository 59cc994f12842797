"""`tollgate prices`: shows prices, lists unpriced usage, and re-prices requests."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from importlib import import_module
from typing import Any

import click

from app.cli.actor import record_after
from app.cli.ledger import open_ledger, open_reports
from app.cli.output import write_whole
from app.cli.price_update import signed, update
from app.cli.tables import Cell, format_table, on_terminal
from app.cli.times import Moment, range_ms, show_time
from app.ledger.repricing import past_repricings
from app.ledger.repricing_plan import Scope
from app.ledger.unpriced import Unpriced, unpriced
from app.pricing.price import EffectivePeriod, Price
from app.pricing.price_book import PriceBook, load_prices
from app.pricing.rates import PER_THOUSAND, RATE_NAMES, shown_rate
from app.pricing.snapshot import SNAPSHOT_FILE
from app.settings import prices_file
from app.storage.sql.audit import Change


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

    A kind of token without a price is not shown: using it makes the cost of a request unknown.

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
            "usd_per_million_tokens": [_of_tokens(it) for it in rates],
            "usd_per_thousand_searches": rates[0]["web_search"],
        }
        click.echo(json.dumps(shown, indent=2))
        return
    since = f"effective from {period.from_day} (UTC)" if period.from_day else "always effective"
    if period.daily_s:
        since += ", at this time of day"
    unit = "in dollars per million tokens, and per 1,000 web searches"
    click.echo(f"{model}: {price.price_id}, {since}, {unit}", err=True)
    known = [kind for kind in RATE_NAMES if any(tier[kind] is not None for tier in rates)]
    rows = [[tier["above_prompt_tokens"], *(tier[kind] for kind in known)] for tier in rates]
    for line in format_table(["above prompt tokens", *known], rows, pretty=on_terminal()):
        click.echo(line)


def _of_tokens(rates: dict[str, Any]) -> dict[str, Any]:
    return {kind: rate for kind, rate in rates.items() if kind not in PER_THOUSAND}


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
        amounts = {kind: shown_rate(kind, rate) for kind, rate in asdict(rates).items()}
        yield {"above_prompt_tokens": max(0, above), **amounts}


@prices.command("missing")
@click.option(
    "--since", type=Moment(), default="30d", show_default=True, help="Start of the range."
)
@click.option("--until", type=Moment(), help="End of the range (exclusive); default: now.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def missing(since: datetime, until: datetime | None, as_json: bool) -> None:
    """List models that were used without a known price, those with the most tokens first.

    If a model has a price, but not for all that it used (images that it drew, web searches), the
    last column names what lacks one. If the price is known now, `tollgate prices update` applies
    it.
    """
    start_ms, end_ms = range_ms(since, until)
    book = load_prices(prices_file())
    with open_reports() as source:
        found = unpriced(source.engine, start_ms, end_ms, book)
    if as_json:
        click.echo(json.dumps([_object(book, it) for it in found], indent=2))
        return
    if not found:
        click.echo("All usage has a price.", err=True)
        return
    headings = (
        "served",
        "requested",
        "requests",
        "tokens",
        "last used",
        "price known now",
        "lacks",
    )
    for line in format_table(headings, [_row(book, it) for it in found], pretty=on_terminal()):
        click.echo(line)


def _row(book: PriceBook, it: Unpriced) -> list[Cell]:
    lacks = _lacks(book, it)
    return [
        f"{it.vendor}/{it.model}" + (f" ({it.service_tier})" if it.service_tier else ""),
        f"{it.vendor}/{it.asked}",
        it.requests,
        it.used.total_tokens,
        show_time(it.last_started_at_ms),
        "yes" if lacks == [] else "no",
        ", ".join(lacks or ()),
    ]


def _lacks(book: PriceBook, it: Unpriced) -> list[str] | None:
    """Return the kinds without a price now, of those that were used; None: the model has none."""
    at_ms, tier = it.last_started_at_ms, it.service_tier
    price = book.price(it.vendor, it.model, it.asked, at_ms=at_ms, tier=tier)
    return None if price is None else price.unpriced_kinds(it.used)


def _object(book: PriceBook, it: Unpriced) -> dict[str, Any]:
    shown, lacks = asdict(it), _lacks(book, it)
    shown["tokens"] = shown.pop("used")["total_tokens"]
    return shown | {"known_now": lacks == [], "lacks": lacks or []}


prices.add_command(update)


@prices.command("log")
def log() -> None:
    """List the re-pricings and the changes of cost, the latest first."""
    with open_ledger() as engine:
        found = past_repricings(engine)
    if not found:
        click.echo("Nothing was re-priced yet.", err=True)
        return
    rows: list[list[Cell]] = [
        [
            show_time(it.started_at_ms),
            show_time(it.start_ms),
            show_time(it.end_ms),
            it.changed_entries,
            signed(it.added_nanousd),
            _narrowed(it.scope),
        ]
        for it in found
    ]
    headings = ("time", "requests from", "to", "changed entries", "change", "only")
    for line in format_table(headings, rows, pretty=on_terminal()):
        click.echo(line)


def _narrowed(scope: Scope) -> str:
    """Return the accounts and models that a re-pricing was narrowed to."""
    return " ".join(sorted((scope.account_ids or set()) | (scope.models or set())))


@prices.command("import")
def import_prices() -> None:
    """Update config/prices.json from the installed package genai-prices, without network access.

    Prints how many models' prices changed. Running processes take the new prices within 10 seconds.
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
