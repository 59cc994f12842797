"""The fields that a log line about one request has, as in the web process's log."""

from typing import Any

from app.usage.messages.event import UsageEvent
from app.usage.messages.open_record import OpenRecord

NAMES = ("event_id", "request_id", "account_id", "api_key_id")


def event_fields(event: UsageEvent | OpenRecord | None) -> dict[str, Any]:
    """Return `extra` for a log call; without an event, there are no fields."""
    return {"fields": {name: getattr(event, name) for name in NAMES} if event else {}}
