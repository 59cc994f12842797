"""Price files: `config/prices.toml`, and a deployment's own file, which overrides it.

`config/prices.toml` describes their format.
"""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from app.pricing.price import EffectivePeriod, Price
from app.pricing.rates import RATE_NAMES, RatesError, load_price
from app.pricing.service_tier import tier_of
from app.settings import CONFIG_DIR, ConfigError

DEFAULT_FILE = CONFIG_DIR / "prices.toml"


@dataclass(frozen=True, slots=True)
class PriceRow:
    """The price of the models that match a glob of `vendor/name`, during a period.

    `tier` is the service tier; None is the standard tier.
    """

    model: str
    period: EffectivePeriod
    price: Price
    tier: str | None = None

    def fits(self, model: str, tier: str | None = None) -> bool:
        """Return whether the row applies to `vendor/name` in a tier."""
        return self.tier == tier and fnmatchcase(model, self.model)


@dataclass(frozen=True, slots=True)
class PriceFile:
    """The content of a file.

    `rows` are in order of priority. `providers` maps vendors to the providers of the snapshot whose
    prices they charge. `unknown` is the price that budgets reserve for a model of unknown price.
    """

    rows: tuple[PriceRow, ...]
    providers: Mapping[str, str]
    unknown: Price | None = None

    @classmethod
    def read(cls, path: Path) -> "PriceFile":
        """Read a file.

        Raises: ConfigError, which lists all problems of the file.
        """
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=Decimal)
        except (OSError, ValueError, RecursionError) as exc:  # not UTF-8, not TOML, too deep
            raise ConfigError(f"the price file {path} cannot be read: {exc}") from exc
        problems = list(_problems(table))
        if problems:
            raise ConfigError("\n".join(f"{path}: {problem}" for problem in problems))
        rows = [_row(row) for row in table.get("prices", ())]
        unknown = load_price("unknown", table["unknown"]) if "unknown" in table else None
        return cls(tuple(_by_priority(rows)), table.get("providers", {}), unknown)

    def fitting(self, model: str, tier: str | None = None) -> list[PriceRow]:
        """Return the rows for `vendor/name` in a tier, in order of priority."""
        return [row for row in self.rows if row.fits(model, tier)]

    def fitting_any(self, models: Iterable[str], tier: str | None = None) -> list[PriceRow]:
        """Return the rows for the model that has these names, the most reliable first.

        They are the rows of one name: the first that has a row of its own, otherwise the first that
        a glob matches.
        """
        fitting = [rows for rows in (self.fitting(it, tier) for it in models) if rows]
        return min(fitting, key=lambda rows: _is_glob(rows[0].model), default=[])

    def of_vendor(self, vendor: str) -> list[Price]:
        """Return the prices of all rows that may apply to a vendor's models, at any time."""
        return [r.price for r in self.rows if fnmatchcase(vendor, r.model.partition("/")[0])]

    def merged_over(self, below: "PriceFile") -> "PriceFile":
        """Return the content of both files, in which this one has priority over `below`."""
        providers = {**below.providers, **self.providers}
        return PriceFile(self.rows + below.rows, providers, self.unknown or below.unknown)


def _by_priority(rows: Sequence[PriceRow]) -> list[PriceRow]:
    """Sort rows: names before globs, then by the model's first place, then the newest first."""
    place: dict[str, int] = {}
    for row in rows:
        place.setdefault(row.model, len(place))
    return sorted(
        rows, key=lambda row: (_is_glob(row.model), place[row.model], -_first_day(row.period))
    )


def _is_glob(model: str) -> bool:
    return not _GLOB.isdisjoint(model)


_GLOB = frozenset("*?[")


def _first_day(period: EffectivePeriod) -> int:
    return 0 if period.from_day is None else period.from_day.toordinal()


def _problems(table: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(table.keys() - {"prices", "providers", "unknown"}):
        yield f"{key} is unknown: use `prices`, `providers` or `unknown`"
    yield from (f"[unknown]: {problem}" for problem in _unknown_problems(table))
    providers = table.get("providers", {})
    if not isinstance(providers, dict) or not all(isinstance(it, str) for it in providers.values()):
        yield "[providers] must map each vendor to the name of a provider"
    rows = table.get("prices", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        yield "prices must be tables, each headed [[prices]]"
        return
    problems = [
        f"[[prices]] number {number}: {problem}"
        for number, row in enumerate(rows, 1)
        for problem in _row_problems(row)
    ]
    yield from problems or _contradictions([_row(row) for row in rows])


def _contradictions(rows: Sequence[PriceRow]) -> Iterator[str]:
    """Yield a problem for each row that contradicts the price of an earlier one."""
    first: dict[tuple[str, str | None, date | None], tuple[int, Price]] = {}
    for number, row in enumerate(rows, 1):
        key = (row.model, row.tier, row.period.from_day)
        known, price = first.setdefault(key, (number, row.price))
        if price.tiers != row.price.tiers:
            since = f"from {row.period.from_day}" if row.period.from_day else "without a `from`"
            tier = f" in the tier {row.tier}" if row.tier else ""
            yield f"[[prices]] numbers {known} and {number} differ for {row.model}{tier}, {since}"


def _unknown_problems(table: Mapping[str, Any]) -> Iterator[str]:
    rates = table.get("unknown")
    if rates is None:
        return
    if not isinstance(rates, dict):
        yield "must be a table of rates"
        return
    for key in sorted(rates.keys() - set(RATE_NAMES)):
        yield f"{key} is unknown"
    yield from _rate_problems(rates)


def _row_problems(row: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(row.keys() - {"model", "from", "service_tier", *RATE_NAMES}):
        yield f"{key} is unknown"
    vendor, _, name = row["model"].partition("/") if isinstance(row.get("model"), str) else [""] * 3
    if not vendor or not name:
        yield "model must be a glob of vendor/name"
    if "from" in row and not _is_day(row["from"]):
        yield "from must be a day, such as 2026-10-01"
    tier = row.get("service_tier", "flex")
    if not isinstance(tier, str) or not tier.strip():
        yield "service_tier must be a vendor's name for a tier, such as flex"
    yield from _rate_problems(row)


def _rate_problems(row: Mapping[str, Any]) -> Iterator[str]:
    try:
        if load_price("", row) is None:
            yield "input and output are required"
    except RatesError as exc:
        yield str(exc)


def _is_day(value: Any) -> bool:
    return isinstance(value, date) and not isinstance(value, datetime)


def _row(row: Mapping[str, Any]) -> PriceRow:
    tier = tier_of(row.get("service_tier"))
    price = load_price(f"file:{row['model']}{f':{tier}' if tier else ''}", row)
    if price is None:
        raise ValueError("a row without a price")  # unreachable: `_problems` reports it
    return PriceRow(row["model"], EffectivePeriod(row.get("from")), price, tier)
