"""What Amazon Bedrock's endpoints share: the address of a model, its counts, its streams.

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
from app.gateways.base import plain_mapping
from app.gateways.bedrock.errors import decode_exception
from app.gateways.bedrock.event_stream import MessageParser
from app.gateways.decoding.counts import put_together
from app.gateways.decoding.finish import GOES_ON, Finish
from app.gateways.decoding.framing import TextFraming
from app.gateways.decoding.parsing import whole
from app.gateways.decoding.wire import Wire
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import ModelNotFound, UnsupportedParameter
from app.vocabulary.vendor_request import VendorRequest

#: Keys of a row's `quirks` that both endpoints need; the region is part of each signature.
QUIRKS: Mapping[str, fields.Field[Any]] = {"region": fields.String(required=True)}

#: An id, an inference profile's id, or an ARN of either. None begins with a dot, so that none
#: is a step in a path.
_MODEL_ID = re.compile(r"[A-Za-z0-9][\w.:/-]{0,2047}", re.ASCII)

#: What the wire takes as a value of request metadata, which is how it knows an end user.
_METADATA = re.compile(r"[a-zA-Z0-9\s:_@$#=/+,.-]{0,256}", re.ASCII)


def vendor_request(
    vendor: Vendor,
    request: CompletionRequest,
    operation: str,
    body: Mapping[str, Any],
    *,
    dropped: tuple[str, ...],
    headers: Mapping[str, str] | None = None,
) -> VendorRequest:
    """Return the request for `operation` on the model, whose id is one segment of the path.

    Raises: ModelNotFound for what is no model's id.
    """
    model = request.model_name
    if not _MODEL_ID.fullmatch(model):
        raise ModelNotFound(f"`{model[:64]}` is not an id of a Bedrock model.", param="model")
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


def request_metadata(vendor: Vendor, user: str | None) -> dict[str, str]:
    """Return the metadata that names the end user in the account's invocation logs; or nothing.

    Raises: UnsupportedParameter for characters that the wire refuses.
    """
    if user is None:
        return {}
    if not _METADATA.fullmatch(user):
        raise UnsupportedParameter(
            f"The vendor `{vendor.name}` takes a `user` of at most 256 characters, which are "
            "letters, digits, spaces or one of :_@$#=/+,-.",
            param="user",
        )
    return {"user": user}


def as_list(stop: Any) -> list[str]:
    """Return stop sequences as the wire has them: always a list."""
    return [stop] if isinstance(stop, str) else list(stop)


def decode_usage(counts: Any, names: tuple[str, str, str, str]) -> Usage | None:
    """Return the vendor's count, halves too, or None when it is none.

    `names` are those of the tokens read, generated, read from the cache and written to it; the
    wire counts what is cached beside what is read. The total is our sum wherever there is one.
    """
    told = plain_mapping(counts)
    fresh, generated, cached, written = (whole(told.get(name)) for name in names)
    known = None if fresh is None else fresh + (cached or 0) + (written or 0)
    both = known is not None and generated is not None
    # Whether it holds what is cached is not said, so it only helps out where nothing is.
    total = None if both or cached or written else whole(told.get("totalTokens"))
    parts = {"cached_tokens": cached or 0, "cache_write_tokens": written or 0}
    return put_together("bedrock", known, generated, total, parts)


@dataclass(frozen=True, slots=True)
class Piece:
    """What one event of a stream, or a whole answer, adds: each may be nothing."""

    text: str = ""
    finish: Finish = GOES_ON
    usage: Usage | None = None
    tier: str | None = None


class BedrockWire(Wire):
    """One answer, which is of one choice; the wire names neither an id nor the model that answers.

    A payload is an event's type and its JSON.
    """

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        super().__init__(vendor, request)
        self._created = int(time.time())

    def unwrap(self, name: str | None, value: Any) -> Iterable[Any]:
        """Return the value, with the event's type where it has one."""
        return (value if name is None else (name, value),)

    def completion(self, piece: Piece, *, is_whole: bool = False) -> Completion:
        """Return a piece as a completion; a whole answer has its choice also without a word."""
        reason, native = piece.finish
        choice = Choice(0, piece.text, reason, None, native)
        return Completion(
            id="",
            created=self._created,
            model=self.request.model_name,
            choices=(choice,) if is_whole or piece.text or reason else (),
            usage=piece.usage,
            service_tier=piece.tier,
        )


class BedrockFraming:
    """Amazon's binary event stream, or JSON: the first byte says which."""

    def __init__(self, vendor: Vendor) -> None:
        self._vendor = vendor
        self._text = TextFraming(vendor)
        self._messages: MessageParser | None = None
        self._is_known = False

    @property
    def is_json(self) -> bool:
        """Whether the answer is JSON."""
        return self._text.is_json

    @property
    def is_closed(self) -> bool:
        """Whether the JSON that has come could be complete."""
        return self._text.is_closed

    def feed(self, packet: bytes) -> Iterator[ServerSentEvent]:
        """Yield an event for each message, named by its type."""
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
        """Return the JSON; of messages, each was complete."""
        return self._text.flush() if self._messages is None else ()
