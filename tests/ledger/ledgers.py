"""Ledgers for the tests of this room: their events, their rows, and what they must contain."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sqlalchemy as sa
from hypothesis import strategies as st
from msgspec.structs import asdict
from sqlalchemy import Engine, Table

from app.ledger.posting import Entry, summed
from app.ledger.reports.query import UsageQuery, UsageRow
from app.ledger.rollup_sums import folded
from app.ledger.slots import DAY_S, SLOT_S
from app.pricing.price_book import NO_PRICES, PriceBook
from app.storage.sql.engine import create_engine
from app.storage.sql.tables import ROLLUP_KEY, entries, rollups
from app.storage.sql.transactions import reading
from app.usage.cost import cost_of
from app.usage.messages.call_attempt import encode_attempts
from app.usage.messages.call_usage import encode_calls
from app.usage.messages.event import UsageEvent
from app.usage.messages.event_id import new_event_id
from tests.support.events import usage_event
from tests.support.services.sqlite import new_ledger

HOUR_MS = 3_600_000
MIDNIGHT_S = 1_779_926_400  # 2026-05-28, UTC
MIDNIGHT_MS = MIDNIGHT_S * 1000
#: The day that begins then.
DAY = UsageQuery(MIDNIGHT_S, MIDNIGHT_S + DAY_S)


def rows(engine: Engine, table: Table) -> list[dict[str, Any]]:
    with reading(engine) as connection:
        found = connection.execute(sa.select(table).order_by(*table.primary_key))
        return [dict(row._mapping) for row in found]


def ledger_of(engine: Engine) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    return rows(engine, entries), rows(engine, rollups)


def as_posted(
    events: Sequence[UsageEvent], ledger_prices: PriceBook = NO_PRICES
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what the ledger must contain after these events, whose ids are distinct."""
    ordered = sorted(events, key=lambda event: event.event_id)
    costs = [cost_of(event, ledger_prices) for event in ordered]
    posted = [
        Entry(event, cost.nanousd, cost.price_id)
        for event, cost in zip(ordered, costs, strict=True)
    ]
    rows = [
        {
            **{name: it for name, it in asdict(entry.event).items() if name in entries.c},
            "calls": encode_calls(entry.event.calls),
            "attempt_log": encode_attempts(entry.event.attempt_log),
            "cost_nanousd": entry.cost_nanousd,
            "price_id": entry.price_id,
        }
        for entry in posted
    ]
    return rows, folded(summed(posted), SLOT_S, ROLLUP_KEY)


@contextmanager
def empty_ledger() -> Iterator[Engine]:
    """Yield a new SQLite ledger: hypothesis runs many examples in one test, fixtures only one."""
    with TemporaryDirectory() as folder:
        engine = create_engine(new_ledger(Path(folder) / "ledger.db"))
        yield engine
        engine.dispose()


EVENTS = st.lists(
    st.builds(
        usage_event,
        account_id=st.sampled_from(["a", "A", "b"]),
        api_key_id=st.sampled_from(["key_1", "key_2"]),
        vendor=st.sampled_from(["openai", "vllm"]),
        model=st.sampled_from(["m", "M", "m:1"]),
        status=st.sampled_from(["completed", "failed", "truncated"]),
        source=st.sampled_from(["vendor", "estimated"]),
        endpoint=st.sampled_from(["completions", "chat.completions"]),
        prompt_tokens=st.integers(0, 2**40),
        started_at_ms=st.integers(MIDNIGHT_MS - HOUR_MS, MIDNIGHT_MS + HOUR_MS),
        event_id=st.builds(new_event_id, st.integers(0, 2**48 - 1)),
    ),
    min_size=1,
    max_size=12,
)


def at(second: float, **changes: object) -> UsageEvent:
    """Return an event that started `second` seconds after midnight."""
    return usage_event(started_at_ms=MIDNIGHT_S * 1000 + int(second * 1000), **changes)


def requests(rows: Iterable[UsageRow]) -> int:
    return sum(row.requests for row in rows)
