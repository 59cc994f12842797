"""Price files: `config/prices.toml`, and the one that a deployment lays over it.

Their form is described in `config/prices.toml`.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from app.settings import CONFIG_DIR, ConfigError
from app.usage.price import Price, Term
from app.usage.price_rates import RATE_NAMES, RatesError, load_price

DEFAULT_FILE = CONFIG_DIR / "prices.toml"


@dataclass(frozen=True, slots=True)
class PriceRow:
    """The price of the models that fit a glob of `vendor/name`, as long as its term says."""

    model: str
    term: Term
    price: Price

    def fits(self, model: str) -> bool:
        """Say whether it is the price of `vendor/name`."""
        return fnmatchcase(model, self.model)


@dataclass(frozen=True, slots=True)
class PriceFile:
    """What a file says: its rows in their order, and which vendor charges whose prices."""

    rows: tuple[PriceRow, ...]
    providers: Mapping[str, str]

    @classmethod
    def read(cls, path: Path) -> "PriceFile":
        """Read a file.

        Raises: ConfigError with all that is wrong with it.
        """
        try:
            table = tomllib.loads(path.read_text(), parse_float=Decimal)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
            raise ConfigError(f"the price file {path} cannot be read: {exc}") from exc
        problems = list(_problems(table))
        if problems:
            raise ConfigError("\n".join(f"{path}: {problem}" for problem in problems))
        rows = tuple(_row(row) for row in table.get("prices", ()))
        return cls(rows, table.get("providers", {}))

    def fitting(self, model: str) -> list[PriceRow]:
        """Return the rows of `vendor/name`: of those in force, the first is its price."""
        return [row for row in self.rows if row.fits(model)]

    def over(self, below: "PriceFile") -> "PriceFile":
        """Return this file laid over another one."""
        return PriceFile(self.rows + below.rows, {**below.providers, **self.providers})


def _problems(table: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(table.keys() - {"prices", "providers"}):
        yield f"{key} is neither `prices` nor `providers`"
    providers = table.get("providers", {})
    if not isinstance(providers, dict) or not all(isinstance(it, str) for it in providers.values()):
        yield "[providers] must give each vendor the name of a provider"
    rows = table.get("prices", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        yield "prices must be tables, each headed [[prices]]"
        return
    for number, row in enumerate(rows, 1):
        yield from (f"[[prices]] no. {number}: {problem}" for problem in _row_problems(row))


def _row_problems(row: Mapping[str, Any]) -> Iterator[str]:
    for key in sorted(row.keys() - {"model", "from", *RATE_NAMES}):
        yield f"{key} is not known"
    vendor, _, name = row["model"].partition("/") if isinstance(row.get("model"), str) else [""] * 3
    if not vendor or not name:
        yield "model must be a glob of vendor/name"
    if "from" in row and not _is_day(row["from"]):
        yield "from must be a day, such as 2026-10-01"
    try:
        if load_price("", row) is None:
            yield "input and output are required"
    except RatesError as exc:
        yield str(exc)


def _is_day(value: Any) -> bool:
    return isinstance(value, date) and not isinstance(value, datetime)


def _row(row: Mapping[str, Any]) -> PriceRow:
    price = load_price(f"file:{row['model']}", row)
    if price is None:
        raise ValueError("a row without a price")  # unreachable: `_problems` has refused it
    return PriceRow(row["model"], Term(row.get("from")), price)
