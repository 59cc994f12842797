"""Reads how many requests were refused before any vendor was called, and why.

Does not depend on HTTP.
"""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Engine, func, select

from app.ledger.reports.query import UsageQuery
from app.storage.sql.tables import refusals
from app.storage.sql.transactions import reading


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalRow:
    """The refused requests of one group in one bucket; what is not grouped by is None.

    Account and key are empty if the request did not tell them, and the endpoint if it was not valid
    HTTP.
    """

    bucket_start_s: int | None = None
    account_id: str | None = None
    api_key_id: str | None = None
    endpoint: str | None = None
    reason: str | None = None
    requests: int


@dataclass(frozen=True, slots=True)
class RefusalReader:
    """Reads one ledger."""

    engine: Engine

    def rows(self, query: UsageQuery) -> list[RefusalRow]:
        """Return a row for each bucket and group that has refused requests.

        The filters are accounts, keys and endpoints; the others are ignored. Requests are counted
        by the hour: each hour belongs to the bucket in which it begins.
        Order: by bucket, then by the columns of `group_by`, in byte order.
        Raises: LedgerUnavailable.
        """
        groups: list[ColumnElement[Any]] = [refusals.c[name] for name in query.columns]
        if query.bucket_s is not None:
            groups.insert(0, _bucket(query.bucket_s, query.phase_s))
        requests = func.sum(refusals.c.requests).label("requests")
        statement = (
            select(*groups, requests)
            .where(*_conditions(query))
            .group_by(*groups)
            .having(func.count() > 0)
            .order_by(*groups)
        )
        with reading(self.engine) as connection:
            found = connection.execute(statement).mappings()
            # On PostgreSQL, the sum of bigint columns is a Decimal.
            return [RefusalRow(**{**row, "requests": int(row["requests"])}) for row in found]


def _bucket(bucket_s: int, phase_s: int) -> ColumnElement[int]:
    # Literals, because PostgreSQL treats expressions with different parameters as different.
    width, phase = (sa.literal_column(str(it), sa.BigInteger) for it in (bucket_s, phase_s))
    return ((refusals.c.hour_s - phase) // width * width + phase).label("bucket_start_s")


def _conditions(query: UsageQuery) -> list[ColumnElement[bool]]:
    hour_s = refusals.c.hour_s
    wanted = [hour_s >= query.start_s, hour_s < query.end_s]
    for name, values in (
        ("account_id", query.account_ids),
        ("api_key_id", query.api_key_ids),
        ("endpoint", query.endpoints),
    ):
        if values is not None:
            wanted.append(refusals.c[name].in_(sorted(values)))
    return wanted
