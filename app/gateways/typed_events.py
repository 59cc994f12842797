"""Streams of server-sent events that are JSON objects, each with its `type`; one choice each.

Anthropic's and Cohere's are so. What the types mean is each wire's own affair.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from app.completion import Choice, Completion, CompletionRequest, FinishReason, Usage
from app.gateways import failures
from app.gateways.answers import failed, load
from app.gateways.base import Vendor
from app.gateways.openai_answer import DONE
from app.sse import EventParser, EventTooLarge


class TypedEventDecoder(ABC):
    """One streamed answer; a wire's decoder says when it is whole by setting `_whole`.

    A type that it does not know is passed over: both vendors add new ones.
    """

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        self._vendor = vendor
        self._request = request
        self._parser = EventParser()
        self._id = ""
        self._model = request.model_name
        self._created = int(time.time())
        self._whole = False

    def feed(self, packet: bytes) -> Iterable[Completion]:
        """Yield the chunks that `packet` completes."""
        try:
            for event in self._parser.feed(packet):
                yield from self._decode(event.data)
        except EventTooLarge as exc:
            raise failed(self._vendor, "sent an event that is too large") from exc

    def close(self) -> Iterable[Completion]:
        """Yield what the end of the connection completes, if the answer is whole."""
        for event in self._parser.flush():
            yield from self._decode(event.data)
        if not self._whole:
            raise failed(self._vendor, "broke off before the answer was complete")

    def _decode(self, data: bytes) -> Iterator[Completion]:
        text = data.strip()
        if not text or text == DONE or self._whole:
            return
        event = load(self._vendor, text)
        kind = event.get("type") if isinstance(event, dict) else None
        if not isinstance(kind, str) or failures.error_in(event):
            raise failures.failure(self._vendor, None, failures.detail(event))
        yield from self._read(kind, event)

    @abstractmethod
    def _read(self, kind: str, event: Mapping[str, Any]) -> Iterator[Completion]:
        """Yield the chunks that an event of this type means."""

    def _chunk(
        self, text: str = "", finish_reason: FinishReason | None = None, usage: Usage | None = None
    ) -> Completion:
        """Return a chunk; without text or reason, it has no choice, and says: still at work."""
        choice = Choice(0, text, finish_reason)
        choices = (choice,) if text or finish_reason else ()
        return Completion(self._id, self._created, self._model, choices, usage)


def word(value: Any, otherwise: str = "") -> str:
    """Return a name that a vendor gave, or `otherwise` where it gave none."""
    return value if isinstance(value, str) and value else otherwise


def text_of(vendor: Vendor, block: Mapping[str, Any]) -> str:
    """Return a content block's `text`.

    Raises: VendorFailed when it has none.
    """
    text = block.get("text")
    if not isinstance(text, str):
        raise failed(vendor, "sent a content block without text")
    return text


def joined_text(vendor: Vendor, content: Any) -> str:
    """Return the text of a message's content; what the model thought is no part of it.

    Raises: VendorFailed when it is no list of content blocks.
    """
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise failed(vendor, "sent no list of content blocks")
    return "".join(text_of(vendor, block) for block in content if block.get("type") == "text")
