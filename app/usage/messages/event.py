"""UsageEvent: the immutable fact of one request, and its JSON form on the stream.

Does not know where events are stored.
"""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Literal, get_args

import msgspec
import orjson
from msgspec import Struct
from msgspec.structs import replace

from app.usage.messages.call_attempt import CallAttempt
from app.usage.messages.call_usage import CallUsage
from app.usage.messages.message import (
    Moment,
    Number,
    Sentence,
    Text,
    UndecodableMessage,
    Word,
    decode_message,
    json_object,
)
from app.usage.messages.stored_text import clip, cut_or_none
from app.vocabulary.completion import USAGE_COUNTS, Usage
from app.vocabulary.request import COMPLETIONS
from app.vocabulary.text import TEXT_LIMIT

Source = Literal["vendor", "read", "estimated", "none"]
SideSource = Literal["vendor", "estimated", "none"]

SOURCES: frozenset[str] = frozenset(get_args(Source))
SIDE_SOURCES: frozenset[str] = frozenset(get_args(SideSource))

#: Words of the version before, and what this version writes instead. Workers of that version may
#: still post entries with them while a deployment is upgraded.
FORMER_SOURCES: Mapping[str, Source] = {"drained": "read"}

#: Sources that are not estimates. A word of a later version may be an estimate.
CERTAIN_SOURCES: frozenset[str] = (SOURCES - {"estimated"}) | FORMER_SOURCES.keys()

#: The source of each side of a request whose event has only one source for all its tokens.
SIDES_OF: Mapping[str, SideSource] = {
    "vendor": "vendor",
    "read": "vendor",
    "drained": "vendor",
    "none": "none",
}


class UsageEvent(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What one request used: one event per admitted request, however the request ended.

    event_id        a UUIDv7; the identity in the ledger: a repeat is the same event
    endpoint        the endpoint that was called; `completions` in events of versions that had one
    vendor, model   what was requested; `vendor_served` is the entry that responded (another one
                    after a failover), `model_served` the vendor's name of the model
    status          completed, failed, disconnected (by the client), truncated (by the vendor),
                    abandoned (the process crashed)
    source          who counted the tokens: vendor, read (the vendor, whose response was read to
                    the end after the client disconnected), estimated (our tokenizer), none (nothing
                    was used); if the two sides differ, the less certain source
    prompt_source, completion_source    the source of each side: vendor, estimated, none
    service_tier    the vendor's word for how it served the request, if it named one
    error_code, error_message    why it failed or was truncated: our stable code, and what the
                    vendor said or Tollgate saw, without keys and prompts; None if nothing failed,
                    and in abandoned events
    calls           what each vendor call used, if the fields above do not say it all: several calls
                    used tokens, or one that was not the last or not made of the requested model
    attempt_log     how each vendor call went; () if the only call succeeded
    process, number the process that opened the request, and the request's number there: 1, 2, 3 …
                    without gaps; None and 0 in events of versions that did not number requests
    started_at_ms   Unix milliseconds, UTC; first_token_ms and duration_ms count from there

    Annotations are the constraints that `decode` checks. On the wire, fields that have a default
    here are left out if they have that value.
    """

    event_id: Text
    request_id: Text
    account_id: Text
    api_key_id: Text
    user: Text | None
    endpoint: Text = COMPLETIONS
    vendor: Text
    model: Text
    vendor_served: Text | None
    model_served: Text | None
    service_tier: Text | None
    stream: bool
    status: Word
    source: Word
    prompt_source: Word
    completion_source: Word
    prompt_tokens: Number
    completion_tokens: Number
    total_tokens: Number
    cached_tokens: Number
    cache_write_tokens: Number
    reasoning_tokens: Number
    audio_prompt_tokens: Number
    audio_completion_tokens: Number
    accepted_prediction_tokens: Number
    rejected_prediction_tokens: Number
    image_prompt_tokens: Number = 0
    image_completion_tokens: Number = 0
    cache_write_1h_tokens: Number = 0
    web_search_calls: Number = 0
    vendor_request_id: Text | None
    http_status: Number | None
    attempts: Number
    client_retry_count: Number
    started_at_ms: Moment
    first_token_ms: Number | None
    duration_ms: Number
    error_code: Text | None = None
    error_message: Sentence | None = None
    calls: tuple[CallUsage, ...] = ()
    attempt_log: tuple[CallAttempt, ...] = ()
    process: Text | None = None
    number: Number = 0

    @property
    def is_provisional(self) -> bool:
        """Whether it estimates what a crashed process did, until the true event turns up."""
        return self.status == "abandoned"

    @property
    def is_empty(self) -> bool:
        """Whether it used nothing: it was rejected, or failed before any work was done."""
        tokens = self.total_tokens or self.prompt_tokens or self.completion_tokens
        return not (tokens or self.web_search_calls)

    @property
    def usage(self) -> Usage:
        """The token counts alone."""
        return Usage(**{name: getattr(self, name) for name in USAGE_COUNTS})

    def encode(self) -> bytes:
        """Return the event as one JSON object, in field order, without defaults.

        Never fails. Callers and vendors write some of its texts, and what they used must be
        recorded in any case, so texts that a ledger cannot store are clipped.
        """
        texts = [text for text in _texts(self) if text is not None]
        joined = "".join(texts)  # nearly always plain ASCII: one check instead of twelve
        event = self
        if "\0" in joined or not joined.isascii() or len(max(texts, key=len)) > TEXT_LIMIT:
            clipped = {
                name: clip(text) for name in _TEXTS if (text := getattr(self, name)) is not None
            }
            event = replace(self, **clipped)
        if self.calls:
            event = replace(event, calls=tuple(call.sanitized() for call in self.calls))
        if self.attempt_log:
            attempts = tuple(attempt.sanitized() for attempt in self.attempt_log)
            event = replace(event, attempt_log=attempts)
        if self.error_message is not None:
            event = replace(event, error_message=cut_or_none(self.error_message))
        return _encoder.encode(event)

    def as_json(self) -> dict[str, Any]:
        """Return all fields as JSON values, as `encode` clips them, with those at their default."""
        return {**_DEFAULTS, **orjson.loads(self.encode())}

    @classmethod
    def decode(cls, raw: bytes) -> "UsageEvent":
        """Return the event that `encode` wrote, in this version, the one before or a later one.

        Fields that the version before did not write are filled in, and its words replaced. Words
        and fields of a later version are kept and ignored.
        Raises: UndecodableMessage if a field is missing, of a wrong type or out of range.
        """
        try:
            event = decode_message(_decoder, raw)
        except UndecodableMessage:
            if (upgraded := _upgraded(raw)) is None:
                raise
            event = decode_message(_decoder, upgraded)
        if event.source in FORMER_SOURCES:
            event = replace(event, source=FORMER_SOURCES[event.source])
        return event


_TEXTS = (
    "event_id",
    "request_id",
    "account_id",
    "api_key_id",
    "user",
    "endpoint",
    "vendor",
    "model",
    "vendor_served",
    "model_served",
    "service_tier",
    "vendor_request_id",
    "error_code",
    "process",
)
_texts = attrgetter(*_TEXTS)
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(UsageEvent)
_DEFAULTS: dict[str, Any] = {
    field.name: [] if field.default == () else field.default
    for field in msgspec.structs.fields(UsageEvent)
    if not field.required
}


def sides_of(source: Any) -> SideSource:
    """Return the source of each side of an event that has one source for both."""
    return SIDES_OF.get(source, "estimated") if isinstance(source, str) else "estimated"


def _upgraded(raw: bytes) -> bytes | None:
    """Return an event of the version before, which had no sides and no tiers; None if it is not."""
    values = json_object(raw)
    if "completion_source" in values:
        return None
    side = sides_of(values.get("source"))
    later = {"prompt_source": side, "completion_source": side, "service_tier": None}
    return orjson.dumps(later | values)
