"""What Amazon Bedrock's endpoints share: the address of a model, its counts, its streams.

Source: botocore's model of bedrock-runtime, 2023-09-30; docs/vendors.md.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from marshmallow import fields

from app import wire
from app.completion import Choice, Completion, CompletionRequest, FinishReason, Usage
from app.errors import ModelNotFound, UnsupportedParameter
from app.gateways.answers import failed, load, whole
from app.gateways.base import Vendor, VendorRequest, authorization, plain_mapping
from app.gateways.bedrock_errors import decode_exception
from app.gateways.event_stream import Message, MessageParser

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
            **authorization(vendor),
            **vendor.headers,
        },
        wire.dump(body),
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
    """Return the vendor's count, or None when it is none, or half of one.

    `names` are those of the tokens read, generated, read from the cache and written to it; the
    wire counts what is cached beside what is read. The total is our sum, so that it always is one.
    """
    found = [plain_mapping(counts).get(name) for name in names]
    fresh, generated = whole(found[0]), whole(found[1])
    cached, written = whole(found[2] or 0), whole(found[3] or 0)
    if fresh is None or generated is None or cached is None or written is None:
        return None
    prompt = fresh + cached + written
    usage = Usage(
        prompt_tokens=prompt,
        completion_tokens=generated,
        total_tokens=prompt + generated,
        cached_tokens=cached,
        cache_write_tokens=written,
    )
    return usage or None


@dataclass(frozen=True, slots=True)
class Piece:
    """What one event of a stream, or a whole answer, adds: each may be nothing."""

    text: str = ""
    finish_reason: FinishReason | None = None
    usage: Usage | None = None


#: Reads one event: its type and its JSON.
Reader = Callable[[str, Any], Piece]


class BedrockStreamDecoder:
    """One streamed answer, whole when it has its finish reason; the usage comes after that."""

    def __init__(self, vendor: Vendor, request: CompletionRequest, read: Reader) -> None:
        self._vendor = vendor
        self._request = request
        self._read = read
        self._parser = MessageParser(vendor)
        self._created = int(time.time())
        self._ended = False

    def feed(self, packet: bytes) -> Iterable[Completion]:
        """Yield the chunks that `packet` completes."""
        for message in self._parser.feed(packet):
            chunk = self._chunk(message)
            if chunk.choices or chunk.usage is not None:
                yield chunk

    def close(self) -> Iterable[Completion]:
        """Yield nothing: each event was complete.

        Raises: VendorFailed when the answer is not whole.
        """
        if not self._ended:
            raise failed(self._vendor, "broke off before the answer was complete")
        return ()

    def _chunk(self, message: Message) -> Completion:
        if message.header(":message-type") in ("exception", "error"):
            raise decode_exception(self._vendor, message)
        piece = self._read(message.header(":event-type"), load(self._vendor, message.payload))
        if self._ended:
            piece = replace(piece, finish_reason=None)  # the first one counts
        self._ended = self._ended or piece.finish_reason is not None
        return completion(self._request, piece, self._created)


def completion(request: CompletionRequest, piece: Piece, created: int | None = None) -> Completion:
    """Return a piece as a completion; the wire names neither an id nor the model that answers."""
    choice = Choice(0, piece.text, piece.finish_reason)
    return Completion(
        id="",
        created=created or int(time.time()),
        model=request.model_name,
        choices=(choice,) if piece.text or piece.finish_reason else (),
        usage=piece.usage,
    )
