"""Usage events and open records for tests."""

from typing import Any

from app.admission.numbering import Numbering, Opening
from app.usage.messages.event import UsageEvent
from app.usage.messages.event_id import new_event_id
from app.usage.messages.open_record import OpenRecord


def usage_event(**changes: Any) -> UsageEvent:
    """Return a completed request of 3 + 2 tokens, with `changes`."""
    return UsageEvent(**(DEFAULTS | {"event_id": new_event_id()} | changes))


def open_record(**changes: Any) -> OpenRecord:
    """Return the record of the same request before its vendor is called, with `changes`."""
    opening = {name: DEFAULTS[name] for name in OPENING}
    return OpenRecord(**(opening | {"event_id": "e1", "owner": "o"} | changes))


def opening(event_id: str, record: bytes = b"{}") -> Opening:
    """Return a request that the process `web-1` opens, of which nothing is kept."""
    return Opening(event_id, record, Numbering("web-1"), lambda _: None)


OPENING = (
    "request_id",
    "account_id",
    "api_key_id",
    "user",
    "endpoint",
    "vendor",
    "model",
    "stream",
    "client_retry_count",
    "started_at_ms",
)
DEFAULTS: dict[str, Any] = {
    "request_id": "req_1",
    "account_id": "acct_1",
    "api_key_id": "key_1",
    "user": None,
    "endpoint": "completions",
    "vendor": "openai",
    "model": "m",
    "vendor_served": "openai",
    "model_served": "m-2026-01-01",
    "service_tier": None,
    "stream": True,
    "status": "completed",
    "source": "vendor",
    "prompt_source": "vendor",
    "completion_source": "vendor",
    "prompt_tokens": 3,
    "completion_tokens": 2,
    "total_tokens": 5,
    "cached_tokens": 0,
    "cache_write_tokens": 0,
    "reasoning_tokens": 0,
    "audio_prompt_tokens": 0,
    "audio_completion_tokens": 0,
    "accepted_prediction_tokens": 0,
    "rejected_prediction_tokens": 0,
    "image_prompt_tokens": 0,
    "image_completion_tokens": 0,
    "cache_write_1h_tokens": 0,
    "web_search_calls": 0,
    "vendor_request_id": None,
    "http_status": 200,
    "attempts": 1,
    "process": None,
    "number": 0,
    "client_retry_count": 0,
    "started_at_ms": 1_780_000_000_000,
    "first_token_ms": 40,
    "duration_ms": 90,
    "error_code": None,
    "error_message": None,
    "calls": (),
    "attempt_log": (),
}
