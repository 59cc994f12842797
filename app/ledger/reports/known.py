"""What has any usage: a filter that names something unknown is a mistake, not a zero."""

from collections.abc import Iterable
from typing import Literal

from sqlalchemy import Engine, exists, func, select

from app.ledger.reports.query import UsageQuery
from app.ledger.reports.reader import conditions
from app.storage.sql.tables import daily_rollups
from app.storage.sql.transactions import reading

Named = Literal["account_ids", "api_key_ids", "models"]


def without_usage(engine: Engine, kind: Named, names: Iterable[str]) -> list[str]:
    """Return those of `names` that have never had any usage; models are `vendor/name`.

    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        return [
            name
            for name in sorted(set(names))
            if not connection.scalar(select(exists().where(*_is(kind, name))))
        ]


def first_day_s(engine: Engine) -> int | None:
    """Return the start of the first day (UTC) with usage, in Unix seconds; None without any.

    Raises: LedgerUnavailable.
    """
    with reading(engine) as connection:
        return connection.scalar(select(func.min(daily_rollups.c.slot_s)))


def _is(kind: Named, name: str) -> list[object]:
    query = UsageQuery(0, 0, **{kind: frozenset({name})})
    return [*conditions(query, daily_rollups)]
