"""CallUsage: what one vendor call of a request used. No I/O.

Money is computed call by call: a long prompt makes its own call more expensive, and no other.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.usage.messages.message import Number, Text
from app.usage.messages.stored_text import clip, clip_or_none
from app.vocabulary.completion import USAGE_COUNTS, Usage


class CallUsage(Struct, frozen=True, omit_defaults=True, gc=False):
    """The counts of one vendor call, and everything that its price depends on.

    vendor          the vendor entry that was called, which may not be the requested one
    model           the model name that the call asked for
    model_served    the vendor's name of the model that served it; None if it named none
    service_tier    the vendor's word for how it served the call; None if it named none

    On the wire, fields that are null or 0 are left out.
    """

    vendor: Text
    model: Text
    model_served: Text | None = None
    service_tier: Text | None = None
    prompt_tokens: Number = 0
    completion_tokens: Number = 0
    total_tokens: Number = 0
    cached_tokens: Number = 0
    cache_write_tokens: Number = 0
    reasoning_tokens: Number = 0
    audio_prompt_tokens: Number = 0
    audio_completion_tokens: Number = 0
    accepted_prediction_tokens: Number = 0
    rejected_prediction_tokens: Number = 0
    image_prompt_tokens: Number = 0
    image_completion_tokens: Number = 0
    cache_write_1h_tokens: Number = 0
    web_search_calls: Number = 0

    @classmethod
    def of(
        cls,
        vendor: str,
        model: str,
        model_served: str | None,
        service_tier: str | None,
        usage: Usage,
    ) -> "CallUsage":
        """Return the usage of a call that was made of `model` at `vendor`."""
        counts = {name: getattr(usage, name) for name in USAGE_COUNTS}
        return cls(vendor, model, model_served, service_tier, **counts)

    @property
    def usage(self) -> Usage:
        """The token counts alone."""
        return Usage(**{name: getattr(self, name) for name in USAGE_COUNTS})

    def sanitized(self) -> "CallUsage":
        """Return the call with texts that a ledger can store."""
        return replace(
            self,
            vendor=clip(self.vendor),
            model=clip(self.model),
            model_served=clip_or_none(self.model_served),
            service_tier=clip_or_none(self.service_tier),
        )


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(tuple[CallUsage, ...])


def encode_calls(calls: Sequence[CallUsage]) -> str | None:
    """Return calls as a JSON array, as the ledger stores them; None if there are none."""
    return _encoder.encode(calls).decode() if calls else None


def decode_calls(raw: str | None) -> tuple[CallUsage, ...]:
    """Return the calls that `encode_calls` wrote, in this version or another."""
    return _decoder.decode(raw) if raw else ()
