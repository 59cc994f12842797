"""Which names have any usage: a filter that names something unknown is a mistake, not a zero."""

from collections.abc import Iterable
from typing import Literal

from sqlalchemy import Engine, exists, select

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


def _is(kind: Named, name: str) -> list[object]:
    query = UsageQuery(0, 0, **{kind: frozenset({name})})
    return [*conditions(query, daily_rollups)]
