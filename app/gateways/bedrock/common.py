"""Code that Bedrock's two APIs share: URLs of models, token counts, streams.

Source: botocore's model of bedrock-runtime, 2023-09-30; docs/vendors.md.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from marshmallow import fields

from app.formats import strict_json
from app.formats.sse import ServerSentEvent
from app.gateways.bedrock.errors import decode_exception
from app.gateways.bedrock.event_stream import MessageParser
from app.gateways.decoding.counts import put_together
from app.gateways.decoding.decoder import Decoder
from app.gateways.decoding.finish import GOES_ON, Finish
from app.gateways.decoding.framing import TextFraming
from app.gateways.decoding.parsing import plain_mapping, whole
from app.vendors.vendor import Vendor
from app.vocabulary.chat.reply import Reply
from app.vocabulary.completion import Choice, Completion, Usage
from app.vocabulary.errors import ModelNotFound, UnsupportedParameter
from app.vocabulary.request import GenerationRequest
from app.vocabulary.vendor_request import VendorRequest

#: Keys of `quirks` that both APIs need; the region is part of each signature.
QUIRKS: Mapping[str, fields.Field[Any]] = {"region": fields.String(required=True)}

#: An id, an inference profile's id, or an ARN of either. None begins with a dot, so that none is a
#: `..` in the path.
_MODEL_ID = re.compile(r"[A-Za-z0-9][\w.:/-]{0,2047}", re.ASCII)

#: A valid value of request metadata, in which the end user is sent.
_METADATA = re.compile(r"[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}", re.ASCII)


def vendor_request(
    vendor: Vendor,
    request: GenerationRequest,
    operation: str,
    body: Mapping[str, Any],
    *,
    dropped: tuple[str, ...],
    headers: Mapping[str, str] | None = None,
) -> VendorRequest:
    """Return the request for `operation` on the model, whose id is one segment of the path.

    Raises: ModelNotFound if it is not a valid id.
    """
    model = request.model_name
    if not _MODEL_ID.fullmatch(model):
        raise ModelNotFound(f"`{model[:64]}` is not a valid id of a Bedrock model.", param="model")
    return VendorRequest(
        f"{vendor.base_url}/model/{quote(model, safe='')}/{operation}",
        {
            "content-type": "application/json",
            **(headers or {}),
            **vendor.headers,
        },
        strict_json.dump(body),
        dropped,
    )


def request_metadata(
    vendor: Vendor, user: str | None, metadata: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the metadata of the account's invocation logs: the caller's, and the end user's name.

    Raises: UnsupportedParameter for characters that Bedrock rejects, or for too many entries.
    """
    found = dict(metadata or {})
    texts = [text for entry in found.items() for text in entry]
    if len(found) > (16 if user is None else 15) or not all(map(_METADATA.fullmatch, texts)):
        raise _unsupported_text(vendor, "metadata", "at most 15 entries whose texts have")
    if user is None:
        return found
    if not _METADATA.fullmatch(user):
        raise _unsupported_text(vendor, "user", "a text of")
    return {**found, "user": user}


def _unsupported_text(vendor: Vendor, name: str, what: str) -> UnsupportedParameter:
    return UnsupportedParameter(
        f"The vendor `{vendor.name}` accepts as `{name}` {what} at most 256 characters: letters, "
        "digits, spaces and :_@$#=/+,-.",
        param=name,
    )


def decode_usage(
    counts: Any, names: tuple[str, str, str, str], more: Mapping[str, int] | None = None
) -> Usage | None:
    """Return the vendor's usage, maybe with an unknown side; None if it has no count.

    `names` are the fields of the tokens read, generated, read from the cache and written to it.
    `more` are other counts. The tokens read exclude cached ones. The total is computed, if both
    sides are known.
    """
    fields_ = plain_mapping(counts)
    fresh, generated, cached, written = (whole(fields_.get(name)) for name in names)
    known = None if fresh is None else fresh + (cached or 0) + (written or 0)
    both = known is not None and generated is not None
    # Undocumented: whether the vendor's total includes cached tokens. Used only without those.
    total = None if both or cached or written else whole(fields_.get("totalTokens"))
    parts = {"cached_tokens": cached or 0, "cache_write_tokens": written or 0, **(more or {})}
    return put_together("bedrock", known, generated, total, parts)


@dataclass(frozen=True, slots=True)
class Delta:
    """The content of one event of a stream, or of a whole response."""

    text: str = ""
    finish: Finish = GOES_ON
    usage: Usage | None = None
    tier: str | None = None
    reply: Reply | None = None
    extra: Mapping[str, Any] | None = None


class BedrockDecoder(Decoder):
    """The base of Bedrock's decoders: one choice, without an id or the model's name.

    The payload of an event is a pair of its type and its JSON.
    """

    def __init__(self, vendor: Vendor, request: GenerationRequest) -> None:
        super().__init__(vendor, request)
        self._created = int(time.time())

    def unwrap(self, name: str | None, value: Any) -> Iterable[Any]:
        return (value if name is None else (name, value),)

    def completion(self, delta: Delta, *, is_whole: bool = False) -> Completion:
        """Return a delta as a chunk, or, with a choice even without text, as a whole completion."""
        reason, native = delta.finish
        choice = Choice(0, delta.text, reason, None, native, None, delta.reply)
        is_choice = is_whole or delta.text or reason or delta.reply is not None
        return Completion(
            id="",
            created=self._created,
            model=self.request.model_name,
            choices=(choice,) if is_choice else (),
            usage=delta.usage,
            service_tier=delta.tier,
            extra=delta.extra,
        )


class BedrockFraming:
    """Amazon's binary event stream, or JSON: the first byte decides."""

    def __init__(self, vendor: Vendor) -> None:
        self._vendor = vendor
        self._text = TextFraming(vendor)
        self._messages: MessageParser | None = None
        self._is_known = False

    @property
    def is_json(self) -> bool:
        return self._text.is_json

    @property
    def is_closed(self) -> bool:
        return self._text.is_closed

    def feed(self, packet: bytes) -> Iterator[ServerSentEvent]:
        """Yield an event for each message, named by the message's type."""
        if not self._is_known and packet:
            self._is_known = True
            # A message begins with its length, whose first byte is 0 below 16 MiB.
            self._messages = MessageParser(self._vendor) if packet[:1] < b"\t" else None
        if self._messages is None:
            yield from self._text.feed(packet)
            return
        for message in self._messages.feed(packet):
            if message.header(":message-type") in ("exception", "error"):
                raise decode_exception(self._vendor, message)
            yield ServerSentEvent(message.header(":event-type"), message.payload)

    def flush(self) -> Iterable[ServerSentEvent]:
        """Return the JSON; nothing for messages, which are complete on their own."""
        return self._text.flush() if self._messages is None else ()
