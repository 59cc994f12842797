"""The reaper: turns the open requests of crashed processes into `abandoned` events.

Does not depend on Celery. An abandoned entry is provisional: if the true event turns up after all
(from a spool, or from a process that was only paused), the ledger replaces the entry by it.
"""

import logging
import time

from app.pricing.price_book import NO_PRICES, PriceBook
from app.usage.charge import charge_of
from app.usage.messages.event import SideSource, UsageEvent
from app.usage.messages.message import UndecodableMessage
from app.usage.messages.open_record import OpenRecord
from app.usage.redis.open_records import OpenRecords
from workers.event_fields import event_fields

#: Characters of text per token, roughly, in the languages of most prompts.
CHARS_PER_TOKEN = 4

#: A record younger than this is never reaped, in ms: its process may not have sent a heartbeat yet.
YOUNG_MS = 10_000

_COMPUTED = (
    "prompt_tokens",
    "completion_tokens",
    "prompt_source",
    "completion_source",
    "process",
)
#: Fields that the event takes from the record unchanged: all that both have, except the computed.
_CARRIED_OVER = tuple(
    name
    for name in OpenRecord.__struct_fields__
    if name in UsageEvent.__struct_fields__ and name not in _COMPUTED
)

logger = logging.getLogger(__name__)


def reap(records: OpenRecords, now_ms: int | None = None, *, prices: PriceBook = NO_PRICES) -> int:
    """Publish an event for each open request of a crashed process; return how many.

    The event's estimated usage and cost replace what the request reserved of its limits. Several
    reapers at the same time make one event per record. Undecodable records become dead letters, and
    are included in the count.
    Raises: StreamUnavailable; the next run does the rest.
    """
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    reaped, decoded = 0, list[OpenRecord]()
    for event_id, raw in records.all().items():
        try:
            decoded.append(OpenRecord.decode(raw))
        except UndecodableMessage as exc:
            reaped += _reject(records, event_id, raw, exc)
    live = records.live_owners({record.owner for record in decoded if record.owner})
    for record in decoded:
        if record.owner not in live and not _is_young(record, now_ms):
            event = abandoned(record)
            if records.abandon(event, charge_of(event, prices)):
                reaped += 1
                logger.info("estimated the event of a crashed process", extra=event_fields(event))
    records.sweep(now_ms - 60_000)
    records.release_orphans()
    if reaped:
        logger.warning("estimated events of crashed processes: %s", reaped)
    return reaped


def _reject(records: OpenRecords, event_id: str, raw: bytes, exc: UndecodableMessage) -> bool:
    logger.warning("open record %s went to the dead-letter stream: %s", event_id, exc)
    return records.dead_letter(event_id, raw, f"open record: {exc}")


def abandoned(record: OpenRecord) -> UsageEvent:
    """Return the event of a request whose process crashed.

    Its tokens are those of the last checkpoint; before the first one, the prompt's are estimated by
    its length. A side that the vendor has counted keeps that source. Any other side is an estimate,
    even if nothing is known of it: the vendor may have done more.
    """
    prompt_tokens = record.prompt_tokens
    if prompt_tokens is None:
        prompt_tokens = -(-record.prompt_chars // CHARS_PER_TOKEN)
    completion_tokens = record.completion_tokens or 0
    prompt_source = _source(record.prompt_source, record.prompt_tokens)
    completion_source = _source(record.completion_source, record.completion_tokens)
    is_counted = prompt_source == completion_source == "vendor"
    return UsageEvent(
        **{name: getattr(record, name) for name in _CARRIED_OVER},
        process=record.process_name,
        vendor_served=None,
        model_served=None,
        status="abandoned",
        source="vendor" if is_counted else "estimated",
        prompt_source=prompt_source,
        completion_source=completion_source,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        total_tokens=prompt_tokens + completion_tokens,
        vendor_request_id=None,
        http_status=None,
        first_token_ms=None,
    )


def _source(source: str, tokens: int | None) -> SideSource:
    return "vendor" if source == "vendor" and tokens is not None else "estimated"


def _is_young(record: OpenRecord, now_ms: int) -> bool:
    return now_ms - YOUNG_MS < record.started_at_ms <= now_ms
