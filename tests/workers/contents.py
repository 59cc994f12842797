"""What a test puts on the stream, and finds there and in the ledger."""

import sqlalchemy as sa
from redis import Redis
from sqlalchemy import Engine

from app.storage.sql.tables import entries, rollups
from app.usage.redis.stream import EventStream
from tests.support.events import usage_event


def event_ids(engine: Engine) -> list[str]:
    """The ids of all entries, in order."""
    with engine.connect() as connection:
        return list(connection.scalars(sa.select(entries.c.event_id).order_by(entries.c.event_id)))


def entry_count(engine: Engine) -> int:
    """How many entries there are."""
    with engine.connect() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(entries)) or 0


def rolled_up(engine: Engine) -> int:
    """How many requests the rollups add up to."""
    with engine.connect() as connection:
        return int(connection.scalar(sa.select(sa.func.sum(rollups.c.requests))) or 0)


def waiting(redis: "Redis") -> tuple[int, int]:
    """The stream's length, and how many of its entries are claimed."""
    return redis.xlen("usage:events"), int(redis.xpending("usage:events", "drain")["pending"])


def publish(stream: EventStream, count: int) -> list[str]:
    """Publish events; return their ids, in order."""
    events = [usage_event(account_id=f"acct_{number % 7}") for number in range(count)]
    for event in events:
        stream.publish(event)
    return sorted(event.event_id for event in events)
