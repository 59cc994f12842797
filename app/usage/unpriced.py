"""What was used at a price that nobody knew, by who served it."""

from dataclasses import dataclass

from sqlalchemy import Engine, func, select

from app.database import reading
from app.tables import entries


@dataclass(frozen=True, slots=True)
class Unpriced:
    """Requests of one model at one vendor without a price; `asked` is a name callers use for it."""

    vendor: str
    model: str
    asked: str
    requests: int
    tokens: int
    last_started_at_ms: int


def unpriced(engine: Engine, start_ms: int, end_ms: int) -> list[Unpriced]:
    """Return the models without a price that were used in a range, the most tokens first.

    Raises: LedgerUnavailable.
    """
    vendor = func.coalesce(entries.c.vendor_served, entries.c.vendor)
    model = func.coalesce(entries.c.model_served, entries.c.model)
    tokens = func.sum(entries.c.total_tokens)
    statement = (
        select(
            vendor,
            model,
            func.min(entries.c.model),
            func.count(),
            tokens,
            func.max(entries.c.started_at_ms),
        )
        .where(
            entries.c.started_at_ms >= start_ms,
            entries.c.started_at_ms < end_ms,
            entries.c.cost_nanousd.is_(None),
        )
        .group_by(vendor, model)
        .order_by(tokens.desc(), vendor, model)
    )
    with reading(engine) as connection:
        return [
            Unpriced(row[0], row[1], row[2], row[3], int(row[4]), row[5])
            for row in connection.execute(statement)
        ]
