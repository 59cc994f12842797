"""What the parts have in common: a request as an open record and as an event, and the services."""

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa
from redis import Redis
from sqlalchemy import Engine

from app.ledger.reconcile import day_ranges, differences
from app.pricing.price_book import PriceBook, load_prices
from app.storage.sql.engine import create_engine
from app.storage.sql.tables import entries
from app.usage.messages.call_usage import CallUsage
from app.usage.messages.event import UsageEvent
from app.usage.messages.open_record import OpenRecord

#: Name -> what writes a part, and what reads it: it gets what the writer returned.
Parts = dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]]

#: 2026-11-01, in Unix ms: a time of which no rollup is pruned, and that no reaper takes for young.
STARTED_MS = 1_793_491_200_000

#: What a request was, as both versions know it.
RECORD: dict[str, Any] = {
    "request_id": "req_1",
    "account_id": "acme",
    "api_key_id": "key_1",
    "user": "Zoë",
    "vendor": "sim",
    "model": "m",
    "stream": True,
    "client_retry_count": 1,
    "started_at_ms": STARTED_MS,
}
COUNTS = {
    "prompt_tokens": 30,
    "completion_tokens": 20,
    "total_tokens": 50,
    "cached_tokens": 4,
    "cache_write_tokens": 0,
    "reasoning_tokens": 5,
    "audio_prompt_tokens": 0,
    "audio_completion_tokens": 0,
    "accepted_prediction_tokens": 0,
    "rejected_prediction_tokens": 0,
}
CALLS: Sequence[dict[str, Any]] = (
    {"vendor": "spare", "model": "m", "prompt_tokens": 10, "total_tokens": 10},
    {"vendor": "sim", "model": "m", "prompt_tokens": 20, "completion_tokens": 20},
)
EVENT: dict[str, Any] = {
    **RECORD,
    **COUNTS,
    "vendor_served": "sim",
    "model_served": "m-1",
    "service_tier": "flex",
    "status": "completed",
    "source": "estimated",
    "prompt_source": "vendor",
    "completion_source": "estimated",
    "vendor_request_id": "v-1",
    "http_status": 200,
    "attempts": 2,
    "first_token_ms": 40,
    "duration_ms": 90,
}

#: The name of the process that wrote something, which has crashed since.
DEAD_OWNER = "host-1-00000001"


@cache
def redis() -> "Redis":
    """Return a client."""
    return Redis.from_url(os.environ["REDIS_URL"])


@cache
def engine() -> Engine:
    """Return an engine of the ledger."""
    return create_engine(os.environ["DATABASE_URL"])


def prices() -> PriceBook:
    """Return the prices in TOLLGATE_PRICES."""
    return load_prices(Path(os.environ["TOLLGATE_PRICES"]))


def new_id() -> str:
    """Return a name that nothing else has."""
    return secrets.token_hex(8)


def record(event_id: str, **changes: Any) -> OpenRecord:
    """Return an open record."""
    return OpenRecord(**{**RECORD, "event_id": event_id, "owner": DEAD_OWNER, **changes})


def event(event_id: str, **changes: Any) -> UsageEvent:
    """Return an event with all that one may have."""
    calls = tuple(CallUsage(**it) for it in CALLS)
    return UsageEvent(**{**EVENT, "event_id": event_id, "calls": calls, **changes})


def known(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return some values of an event or an entry; without names, all that both versions know."""
    return {name: values[name] for name in names or EVENT}


def waiting() -> list[dict[str, Any]]:
    """Return the events of the stream."""
    found: Any = redis().xrange("usage:events")
    return [msgspec.to_builtins(UsageEvent.decode(it[b"event"])) for _, it in found]


def entry(event_id: str) -> dict[str, Any]:
    """Return an entry of the ledger."""
    with engine().connect() as connection:
        rows = connection.execute(sa.select(entries).where(entries.c.event_id == event_id))
        return dict(rows.mappings().one())


def surplus() -> int:
    """Count the rollups that differ from their entries."""
    return sum(len(differences(engine(), days)) for days in day_ranges(engine()))
