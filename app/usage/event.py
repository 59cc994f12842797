"""UsageEvent: the immutable fact of one request, and its wire form on the stream.

Does not know where events are kept.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from operator import attrgetter, itemgetter
from typing import Any, Literal, get_args

import orjson

from app.completion import USAGE_COUNTS, Usage

Status = Literal["completed", "failed", "disconnected", "truncated", "abandoned"]
Source = Literal["vendor", "drained", "estimated", "none"]

STATUSES: frozenset[str] = frozenset(get_args(Status))
SOURCES: frozenset[str] = frozenset(get_args(Source))

#: Longest text kept, in characters; longer ones end in a digest of the whole. A database index
#: takes no more than some 2,700 bytes for account, key, vendor and model together.
TEXT_LIMIT = 256
#: The largest number kept (as Unix milliseconds, the year 10889). Sums over 32,768 of them still
#: fit a signed 64-bit column, so that a vendor's nonsense cannot break a rollup.
NUMBER_LIMIT = 2**48


class UndecodableEvent(ValueError):
    """A stream entry that is no UsageEvent; the message says why, without its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEvent:
    """What one request used: one per admitted request, whatever became of it.

    event_id        a UUIDv7, the identity in the ledger: a repeat is the same event
    vendor, model   what was asked for; `vendor_served` is who answered (another entry after a
                    failover), `model_served` that vendor's word for what it served
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
    vendor_served: str | None
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
    def is_provisional(self) -> bool:
        """Whether it is a guess at what a dead process did, until the true event turns up."""
        return self.status == "abandoned"

    @property
    def usage(self) -> Usage:
        """The token counts alone."""
        return Usage(**{name: getattr(self, name) for name in USAGE_COUNTS})

    def encode(self) -> bytes:
        """Return the event as JSON, one object, in field order.

        Never fails: text that no ledger can hold is mended (see `clip`), since callers and vendors
        write it and what they used must be recorded all the same.
        """
        event = self
        texts = [text for text in _all_texts(self) if text is not None]
        together = "".join(texts)  # nearly always plain: one look at all of them will do
        if "\0" in together or not together.isascii() or len(max(texts, key=len)) > TEXT_LIMIT:
            mended: dict[str, Any] = {
                name: clip(text) for name in _TEXTS if (text := getattr(self, name)) is not None
            }
            event = replace(self, **mended)
        try:
            return orjson.dumps(event)
        except TypeError:  # a count over 64 bits: `decode` refuses it, and so it is kept and seen
            return json.dumps(asdict(event)).encode()

    @classmethod
    def decode(cls, raw: bytes) -> "UsageEvent":
        """Read what `encode` wrote; fields that this version does not know are left out.

        Raises: UndecodableEvent when a field is missing or of a wrong type.
        """
        try:
            values = orjson.loads(raw)
        except orjson.JSONDecodeError as exc:
            raise UndecodableEvent("not JSON") from exc
        if not isinstance(values, dict):
            raise UndecodableEvent("not a JSON object")
        try:
            row = _row(values)
        except KeyError as exc:
            raise UndecodableEvent(f"{exc.args[0]} is missing") from exc
        if _NUL in raw or not _is_good(values):
            _check(values)
        event = cls.__new__(cls)
        for set_field, value in zip(_SETTERS, row, strict=True):
            set_field(event, value)
        return event


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= NUMBER_LIMIT


def _is_text(value: Any) -> bool:
    # PostgreSQL's text has no NUL
    return isinstance(value, str) and len(value) <= TEXT_LIMIT and "\0" not in value


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_one_of(names: frozenset[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in names


def _or_none(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


_TYPE_CHECKS: Mapping[Any, Callable[[Any], bool]] = {
    int: _is_number,
    int | None: _or_none(_is_number),
    str: _is_text,
    str | None: _or_none(_is_text),
    bool: _is_boolean,
    Status: _is_one_of(STATUSES),
    Source: _is_one_of(SOURCES),
}
_CHECKS = {f.name: _TYPE_CHECKS[f.type] for f in fields(UsageEvent)}
_TEXTS = tuple(f.name for f in fields(UsageEvent) if f.type in (str, str | None))
_all_texts = attrgetter(*_TEXTS)
_row = itemgetter(*_CHECKS)
#: What `__init__` does, which takes three times as long.
_SETTERS = tuple(getattr(UsageEvent, name).__set__ for name in _CHECKS)

#: How JSON writes NUL, raw or behind a backslash of its own; searched in the whole event at once.
_NUL = b"\\u0000"


def _named_by_type(*types: Any) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    return itemgetter(*(f.name for f in fields(UsageEvent) if f.type in types))


_numbers, _nullable_numbers = _named_by_type(int), _named_by_type(int | None)
_texts, _nullable_texts = _named_by_type(str), _named_by_type(str | None)
_MAY_BE_TEXT = {str, type(None)}
_STATES = {(status, source) for status in STATUSES for source in SOURCES}


def _is_good(values: Mapping[str, Any]) -> bool:
    """Say what the checks would, but for NUL, a kind at a time: a drain decodes tens of thousands
    of events a second.
    """
    numbers, texts, nullable = _numbers(values), _texts(values), _nullable_texts(values)
    status, source = values["status"], values["source"]
    return (
        {*map(type, numbers)} == {int}
        and min(numbers) >= 0
        and max(numbers) <= NUMBER_LIMIT
        and all(number is None or _is_number(number) for number in _nullable_numbers(values))
        and {*map(type, texts)} == {str}
        and {*map(type, nullable)} <= _MAY_BE_TEXT
        and max(map(len, (*texts, *filter(None, nullable)))) <= TEXT_LIMIT
        and type(values["stream"]) is bool
        and type(status) is type(source) is str
        and (status, source) in _STATES
    )


def _check(values: Mapping[str, Any]) -> None:
    for name, fits in _CHECKS.items():
        if not fits(values[name]):
            raise UndecodableEvent(f"{name} is of a wrong type or out of range")


def new_event_id(now_ms: int | None = None) -> str:
    """Return a UUIDv7 (RFC 9562, section 5.7): sorts by time, in milliseconds."""
    stamp = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    value = (stamp & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def clip(text: str) -> str:
    """Return `text` as a ledger can hold it, the same object when nothing is to be mended.

    NUL and lone surrogates become U+FFFD; text over TEXT_LIMIT characters ends in a digest.
    """
    if "\0" in text:
        text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if len(text) <= TEXT_LIMIT:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"{text[: TEXT_LIMIT - 17]}~{digest}"


def clip_user(user: str | None) -> str | None:
    """Return a caller's `user` as it is kept."""
    return None if user is None else clip(user)
