"""The reaper: requests whose process died become `abandoned` events, with an estimate.

No Celery here. An abandoned entry is provisional: if the true event turns up after all (out of a
spool, or from a process that was only paused), the ledger puts it in its place.
"""

import logging
import time
from collections.abc import Mapping
from typing import Any

import orjson

from app.pricing.price_book import NO_PRICES, PriceBook
from app.usage.charge import charge_of
from app.usage.event import NUMBER_LIMIT, SideSource, UndecodableEvent, UsageEvent
from app.usage.redis.open_records import OpenRecords
from app.vocabulary.completion import USAGE_COUNTS

#: Characters of text that make one token, roughly, in the languages that most prompts are in.
CHARS_PER_TOKEN = 4

#: A record this young is never reaped, in ms: its process may not have given its first sign yet.
YOUNG_MS = 10_000

logger = logging.getLogger(__name__)


def reap(records: OpenRecords, now_ms: int | None = None, *, prices: PriceBook = NO_PRICES) -> int:
    """Post what dead processes left open; return how many requests that were.

    What they had reserved of their limits is given back, but for the estimate and what it costs.
    Several reapers side by side make one event of a record.
    Raises: StreamUnavailable; the next run does the rest.
    """
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    open_records = records.all()
    decoded = {event_id: _load(raw) for event_id, raw in open_records.items()}
    owners = {str(record.get("owner")) for record in decoded.values()}
    alive = records.live_owners(owners)
    reaped = 0
    for event_id, record in decoded.items():
        if record.get("owner") in alive or _is_young(record, now_ms):
            continue
        reaped += _reap(records, event_id, record, open_records[event_id], prices)
    records.sweep(now_ms - 60_000)
    records.release_orphans()
    if reaped:
        logger.warning("%s requests of dead processes were posted, estimated", reaped)
    return reaped


def _reap(
    records: OpenRecords, event_id: str, record: Mapping[str, Any], raw: bytes, prices: PriceBook
) -> bool:
    try:
        event = abandoned(record)
        return records.abandon(event, charge_of(event, prices))
    except UndecodableEvent as exc:
        logger.warning("open record %s went to the dead stream: %s", event_id, exc)
        return records.dead_letter(event_id, raw, f"open record: {exc}")


def abandoned(record: Mapping[str, Any]) -> UsageEvent:
    """Return the event of a request that did not live to make its own.

    Tokens are those of the last checkpoint, and what it knows as the vendor's count stays that;
    before the first one, the prompt's by its length.
    Raises: UndecodableEvent.
    """
    counts = {name: _number(record, name) or 0 for name in USAGE_COUNTS}
    if _number(record, "prompt_tokens") is None:
        counts["prompt_tokens"] = -(-(_number(record, "prompt_chars") or 0) // CHARS_PER_TOKEN)
    counts["total_tokens"] = counts["prompt_tokens"] + counts["completion_tokens"]
    sides = {name: _side(record, name) for name in ("prompt", "completion")}
    fields = {
        "vendor_served": None,
        "model_served": None,
        "service_tier": None,
        "vendor_request_id": None,
        "http_status": None,
        "attempts": 0,
        "first_token_ms": None,
        "duration_ms": 0,
        **record,
        **counts,
        "status": "abandoned",
        "source": "vendor" if {*sides.values()} == {"vendor"} else "estimated",
        **{f"{name}_source": source for name, source in sides.items()},
    }
    return UsageEvent.decode(orjson.dumps(fields))


def _number(record: Mapping[str, Any], name: str) -> int | None:
    number = record.get(name)
    if number is not None and (type(number) is not int or not 0 <= number <= NUMBER_LIMIT):
        raise UndecodableEvent(f"{name} is of a wrong type or out of range")
    return number


def _side(record: Mapping[str, Any], side: str) -> SideSource:
    """Return whose count a side is; what no vendor has counted is our estimate, if it is nothing:
    the vendor may have done more.
    """
    is_told = record.get(f"{side}_source") == "vendor" and record.get(f"{side}_tokens") is not None
    return "vendor" if is_told else "estimated"


def _is_young(record: Mapping[str, Any], now_ms: int) -> bool:
    started = record.get("started_at_ms")
    return type(started) is int and now_ms - YOUNG_MS < started <= now_ms


def _load(raw: bytes) -> Mapping[str, Any]:
    try:
        record = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    return record if isinstance(record, dict) else {}
