"""UsageEvent: the immutable fact of one request, and its wire form on the stream.

Does not know where events are kept.
"""

import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

import orjson

from app.completion import USAGE_COUNTS, Usage

Status = Literal["completed", "failed", "disconnected", "truncated", "abandoned"]
Source = Literal["vendor", "drained", "estimated", "none"]

STATUSES: frozenset[str] = frozenset(get_args(Status))
SOURCES: frozenset[str] = frozenset(get_args(Source))

#: Longest text kept of a caller's `user`, in characters; longer ones end in a digest of the whole.
USER_LIMIT = 256


class UndecodableEvent(ValueError):
    """A stream entry that is no UsageEvent; the message says why, without its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEvent:
    """What one request used: one per admitted request, whatever became of it.

    event_id        a UUIDv7, the identity in the ledger: a repeat is the same event
    model           the model asked for, without the vendor; `model_served` is the vendor's word
    status          completed, failed, disconnected (the caller left), truncated (the vendor broke
                    off), abandoned (our process died)
    source          whose count it is: vendor, drained (vendor, read on after the caller left),
                    estimated (by our tokenizer), none (nothing was used)
    started_at_ms   Unix milliseconds, UTC; first_token_ms and duration_ms count from there
    """

    event_id: str
    request_id: str
    account_id: str
    api_key_id: str
    user: str | None
    vendor: str
    model: str
    model_served: str | None
    stream: bool
    status: Status
    source: Source
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    audio_prompt_tokens: int
    audio_completion_tokens: int
    accepted_prediction_tokens: int
    rejected_prediction_tokens: int
    vendor_request_id: str | None
    http_status: int | None
    attempts: int
    client_retry_count: int
    started_at_ms: int
    first_token_ms: int | None
    duration_ms: int

    @property
    def usage(self) -> Usage:
        """The token counts alone."""
        return Usage(**{name: getattr(self, name) for name in USAGE_COUNTS})

    def encode(self) -> bytes:
        """Return the event as JSON, one object, in field order."""
        return orjson.dumps(asdict(self))

    @classmethod
    def decode(cls, raw: bytes) -> "UsageEvent":
        """Read what `encode` wrote; fields that this version does not know are left out.

        Raises: UndecodableEvent when a field is missing or of a wrong type.
        """
        try:
            data = orjson.loads(raw)
        except orjson.JSONDecodeError as exc:
            raise UndecodableEvent("not JSON") from exc
        if not isinstance(data, dict):
            raise UndecodableEvent("not a JSON object")
        _check(data)
        return cls(**{name: data[name] for name in _TYPES})


_TYPES: Mapping[str, type[Any] | Any] = {f.name: f.type for f in fields(UsageEvent)}
_NULLABLE = frozenset(n for n, t in _TYPES.items() if "None" in str(t))
_INTEGERS = frozenset(n for n, t in _TYPES.items() if "int" in str(t))
#: The largest count a ledger column holds (a signed 64-bit integer).
_INTEGER_LIMIT = 2**63 - 1


def _check(data: Mapping[str, Any]) -> None:
    for name in _TYPES:
        if name not in data:
            raise UndecodableEvent(f"{name} is missing")
        if not _fits(name, data[name]):
            raise UndecodableEvent(f"{name} is of a wrong type or out of range")


def _fits(name: str, value: Any) -> bool:
    if value is None:
        return name in _NULLABLE
    if name in _INTEGERS:
        return type(value) is int and 0 <= value <= _INTEGER_LIMIT
    if name == "stream":
        return isinstance(value, bool)
    if not isinstance(value, str) or "\0" in value:  # PostgreSQL's text has no NUL
        return False
    if name == "status":
        return value in STATUSES
    return name != "source" or value in SOURCES


def new_event_id(now_ms: int | None = None) -> str:
    """Return a UUIDv7 (RFC 9562, section 5.7): sorts by time, in milliseconds."""
    stamp = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    value = (stamp & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def clip_user(user: str | None) -> str | None:
    """Return `user` as it is kept: without NUL, and at most USER_LIMIT characters long."""
    if user is None:
        return None
    user = user.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if len(user) <= USER_LIMIT:
        return user
    digest = hashlib.sha256(user.encode()).hexdigest()[:16]
    return f"{user[: USER_LIMIT - 17]}~{digest}"
