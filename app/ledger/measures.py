"""The measures of an entry as SQL expressions: what it adds to each measure of a rollup."""

from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, case, func

from app.storage.sql.tables import entries
from app.usage.messages.event import CERTAIN_SOURCES
from app.vocabulary.completion import USAGE_COUNTS
from app.vocabulary.statuses import FAILED_STATUSES, FORMER_FAILED_STATUSES

#: Whether an entry used nothing; such an entry has no cost.
IS_EMPTY: ColumnElement[bool] = sa.and_(
    *(
        entries.c[name] == 0
        for name in ("prompt_tokens", "completion_tokens", "total_tokens", "web_search_calls")
    )
)

#: In the order of ROLLUP_MEASURES. `posting` computes the same values in Python.
ENTRY_MEASURES: tuple[ColumnElement[Any], ...] = (
    sa.literal_column("1", sa.BigInteger).label("requests"),
    case((entries.c.status.in_(sorted(FAILED_STATUSES)), 1), else_=0).label("failed_requests"),
    case((entries.c.source.in_(sorted(CERTAIN_SOURCES)), 0), else_=1).label("estimated_requests"),
    *(entries.c[name] for name in USAGE_COUNTS),
    func.coalesce(entries.c.cost_nanousd, 0).label("cost_nanousd"),
    case((entries.c.cost_nanousd.is_(None), 0), else_=1).label("priced_requests"),
    case((entries.c.cost_nanousd.is_(None) & IS_EMPTY, 1), else_=0).label("empty_requests"),
)

#: Whether this version counts an entry as failed, and the one before did not.
NEWLY_FAILED: ColumnElement[Any] = case(
    (entries.c.status.in_(sorted(FAILED_STATUSES - FORMER_FAILED_STATUSES)), 1), else_=0
).label("newly_failed")
