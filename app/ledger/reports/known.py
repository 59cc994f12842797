"""What has any usage: a filter that names something unknown is a mistake, not a zero."""

from collections.abc import Iterable
from typing import Literal

from sqlalchemy import Engine, Select, func, select

from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import conditions
from app.storage.sql.tables import daily_rollups
from app.storage.sql.transactions import reading

Named = Literal["account_ids", "api_key_ids", "models", "vendors"]


def without_usage(engine: Engine, kind: Named, names: Iterable[str]) -> list[str]:
    """Return those of `names` that have never had any usage; models are `vendor/name`.

    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        return [
            name for name in sorted(set(names)) if connection.scalar(_first(kind, name)) is None
        ]


def first_day_s(engine: Engine) -> int | None:
    """Return the start of the first day (UTC) with usage, in Unix seconds; None without any.

    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        first_s: int | None = connection.scalar(select(func.min(daily_rollups.c.slot_s)))
        return first_s


def _first(kind: Named, name: str) -> Select[tuple[int]]:
    """Return a SELECT of a day with usage of the name."""
    names = frozenset({name})
    query = UsageQuery(
        0,
        0,
        account_ids=names if kind == "account_ids" else None,
        api_key_ids=names if kind == "api_key_ids" else None,
        models=names if kind == "models" else None,
        vendors=names if kind == "vendors" else None,
    )
    return select(daily_rollups.c.slot_s).where(*conditions(query, daily_rollups)).limit(1)
