"""UsageEvent: the immutable fact of one request, and its wire form on the stream.

Does not know where events are kept.
"""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from operator import attrgetter, itemgetter
from typing import Any, Literal, get_args

import orjson

from app.usage.call_usage import CallUsage, load_call
from app.vocabulary.completion import USAGE_COUNTS, Usage

Status = Literal["completed", "failed", "disconnected", "truncated", "abandoned"]
Source = Literal["vendor", "drained", "estimated", "none"]
SideSource = Literal["vendor", "estimated", "none"]

STATUSES: frozenset[str] = frozenset(get_args(Status))
SOURCES: frozenset[str] = frozenset(get_args(Source))
SIDE_SOURCES: frozenset[str] = frozenset(get_args(SideSource))

#: Sources that are no guess; a word of a later version may be one.
CERTAIN_SOURCES: frozenset[str] = SOURCES - {"estimated"}

#: The sources of a prompt and a completion whose event says only where its tokens in all are from.
SIDES_OF: Mapping[str, SideSource] = {"vendor": "vendor", "drained": "vendor", "none": "none"}

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
                    estimated (by our tokenizer), none (nothing was used); of two sides that differ,
                    the less certain one
    prompt_source, completion_source    the same for each side: vendor, estimated, none
    service_tier    the vendor's word for how it served the request, where it said one
    calls           what each vendor call used, where the fields above do not tell: several calls
                    used tokens, or one that was not the last or not made of what was asked for
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
    service_tier: str | None
    stream: bool
    status: Status
    source: Source
    prompt_source: SideSource
    completion_source: SideSource
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
    calls: tuple[CallUsage, ...] = ()

    @property
    def is_provisional(self) -> bool:
        """Whether it is a guess at what a dead process did, until the true event turns up."""
        return self.status == "abandoned"

    @property
    def is_empty(self) -> bool:
        """Whether it used nothing: it was refused, or failed before any work was done."""
        return not (self.total_tokens or self.prompt_tokens or self.completion_tokens)

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
        if self.calls:
            event = replace(event, calls=tuple(map(_mended, self.calls)))
        try:
            return orjson.dumps(event, default=CallUsage.as_dict)
        except TypeError:  # a count over 64 bits: `decode` refuses it, and so it is kept and seen
            calls = [call.as_dict() for call in event.calls]
            return json.dumps({**asdict(event), "calls": calls}).encode()

    @classmethod
    def decode(cls, raw: bytes) -> "UsageEvent":
        """Read what `encode` wrote, in this version, the one before or a later one.

        What the version before did not write is filled in; fields that this one does not know are
        left out; a word that it does not know stays as it is: it is not ours to say what it means.
        Raises: UndecodableEvent when a field is missing or of a wrong type.
        """
        try:
            values = orjson.loads(raw)
        except orjson.JSONDecodeError as exc:
            raise UndecodableEvent("not JSON") from exc
        if not isinstance(values, dict):
            raise UndecodableEvent("not a JSON object")
        if "completion_source" not in values:
            values = _of_the_version_before(values) | values
        try:
            row = _row(values)
        except KeyError as exc:
            raise UndecodableEvent(f"{exc.args[0]} is missing") from exc
        if _NUL in raw or not _is_good(values):
            _check(values)
        event = cls.__new__(cls)
        for set_field, value in zip(_SETTERS, row, strict=True):
            set_field(event, value)
        calls = values.get("calls")
        _set_calls(event, _load_calls(calls) if calls else ())
        return event


def sides_of(source: Any) -> SideSource:
    """Return the source of each side of an event that has one source for both."""
    return SIDES_OF.get(source, "estimated") if isinstance(source, str) else "estimated"


def _of_the_version_before(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the version before did not write: it knew no sides and no service tiers."""
    side = sides_of(values.get("source"))
    return {"prompt_source": side, "completion_source": side, "service_tier": None}


def _mended(call: CallUsage) -> CallUsage:
    return CallUsage(
        clip(call.vendor),
        clip(call.model),
        clip_user(call.model_served),
        clip_user(call.service_tier),
        call.usage,
    )


def _load_calls(values: Any) -> tuple[CallUsage, ...]:
    if not isinstance(values, list) or not all(map(_is_call, values)):
        raise UndecodableEvent("calls is of a wrong type or out of range")
    return tuple(map(load_call, values))


def _is_call(values: Any) -> bool:
    return (
        isinstance(values, dict)
        and all(_is_text(values.get(name)) for name in ("vendor", "model"))
        and all(_is_text(values.get(name) or "") for name in ("model_served", "service_tier"))
        and all(_is_number(values.get(name, 0)) for name in USAGE_COUNTS)
    )


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= NUMBER_LIMIT


def _is_text(value: Any) -> bool:
    # PostgreSQL's text has no NUL
    return isinstance(value, str) and len(value) <= TEXT_LIMIT and "\0" not in value


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_word(value: Any) -> bool:
    """Say whether it may be one of several words, now or in a later version."""
    return isinstance(value, str) and _WORD.fullmatch(value) is not None


_WORD = re.compile("[a-z][a-z_]{0,63}")


def _or_none(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


_TYPE_CHECKS: Mapping[Any, Callable[[Any], bool]] = {
    int: _is_number,
    int | None: _or_none(_is_number),
    str: _is_text,
    str | None: _or_none(_is_text),
    bool: _is_boolean,
    Status: _is_word,
    Source: _is_word,
    SideSource: _is_word,
}
_CHECKS = {f.name: _TYPE_CHECKS[f.type] for f in fields(UsageEvent) if f.name != "calls"}
_TEXTS = tuple(f.name for f in fields(UsageEvent) if f.type in (str, str | None))
_all_texts = attrgetter(*_TEXTS)
_row = itemgetter(*_CHECKS)
#: What `__init__` does, which takes three times as long.
_SETTERS = tuple(getattr(UsageEvent, name).__set__ for name in _CHECKS)
_set_calls = UsageEvent.__dict__["calls"].__set__

#: How JSON writes NUL, raw or behind a backslash of its own; searched in the whole event at once.
_NUL = b"\\u0000"


def _named_by_type(*types: Any) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    return itemgetter(*(f.name for f in fields(UsageEvent) if f.type in types))


_numbers, _nullable_numbers = _named_by_type(int), _named_by_type(int | None)
_texts, _nullable_texts = _named_by_type(str), _named_by_type(str | None)
_MAY_BE_TEXT = {str, type(None)}
_words = itemgetter("status", "source", "prompt_source", "completion_source")
_KNOWN_WORDS = set(product(STATUSES, SOURCES, SIDE_SOURCES, SIDE_SOURCES))


def _is_good(values: Mapping[str, Any]) -> bool:
    """Say what the checks would, but for NUL, a kind at a time: a drain decodes tens of thousands
    of events a second.
    """
    numbers, texts, nullable = _numbers(values), _texts(values), _nullable_texts(values)
    words = _words(values)
    return (
        {*map(type, numbers)} == {int}
        and min(numbers) >= 0
        and max(numbers) <= NUMBER_LIMIT
        and all(number is None or _is_number(number) for number in _nullable_numbers(values))
        and {*map(type, texts)} == {str}
        and {*map(type, nullable)} <= _MAY_BE_TEXT
        and max(map(len, (*texts, *filter(None, nullable)))) <= TEXT_LIMIT
        and type(values["stream"]) is bool
        and {*map(type, words)} == {str}
        and words in _KNOWN_WORDS
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
