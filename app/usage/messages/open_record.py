"""OpenRecord: what is known of a request that has not finished, and its JSON form in Redis.

Does not know where records are stored.
"""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.usage.messages.message import Moment, Number, Text, Word, decode_message
from app.vocabulary.request import COMPLETIONS


class OpenRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A request that was admitted; if its process crashes, its event is made of this.

    owner           the process that serves it; None once that process has disowned it
    process         the process that served it, once that process has disowned it
    number          1 for the first request that its process opened, and so on without gaps; Redis
                    adds it when it opens the request
    prompt_chars    length of the prompts, in characters; only before the first checkpoint

    The fields from `prompt_tokens` on are a checkpoint's: what the request has used by then. Before
    the first checkpoint, `prompt_tokens` and `completion_tokens` are None.
    The other fields are those of the event to come.
    """

    event_id: Text
    request_id: Text
    account_id: Text
    api_key_id: Text
    user: Text | None
    endpoint: Text = COMPLETIONS
    vendor: Text
    model: Text
    stream: bool
    client_retry_count: Number
    started_at_ms: Moment
    owner: Text | None
    process: Text | None = None
    number: Number = 0
    prompt_chars: Number = 0
    prompt_tokens: Number | None = None
    completion_tokens: Number | None = None
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
    prompt_source: Word = "estimated"
    completion_source: Word = "estimated"
    service_tier: Text | None = None
    attempts: Number = 0
    duration_ms: Number = 0

    @property
    def process_name(self) -> str | None:
        """The process that opened the request."""
        return self.process or self.owner

    def disowned(self) -> "OpenRecord":
        """Return the record of a request that its process no longer serves."""
        return replace(self, owner=None, process=self.process_name)

    def unused(self) -> "OpenRecord":
        """Return the record of a request that has used nothing, because it was rejected."""
        return replace(self, prompt_chars=0, prompt_tokens=0, completion_tokens=0)

    def encode(self) -> bytes:
        """Return the record as one JSON object."""
        return _encoder.encode(self)

    @classmethod
    def decode(cls, raw: bytes) -> "OpenRecord":
        """Return the record that `encode` wrote, in this version or another.

        Raises: UndecodableMessage if a field is missing, of a wrong type or out of range.
        """
        return decode_message(_decoder, raw)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(OpenRecord)
