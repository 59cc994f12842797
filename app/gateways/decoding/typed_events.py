"""The base of decoders for streams of JSON objects with a `type` and one choice.

Anthropic's and Cohere's formats are like that.
"""

import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from app.gateways.decoding import failures
from app.gateways.decoding.decoder import Decoder
from app.gateways.decoding.error_bodies import error_in
from app.gateways.decoding.parsing import failed
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Choice, Completion, Ending, Usage
from app.vocabulary.request import GenerationRequest


class TypedEvents(Decoder):
    """Decodes one response. Unknown types are ignored: both vendors add new ones."""

    def __init__(self, vendor: Vendor, request: GenerationRequest) -> None:
        super().__init__(vendor, request)
        self._id = ""
        self._model = request.model_name
        self._created = int(time.time())

    def read(self, payload: Any) -> Completion | None:
        """Decode an event by its type; None if it holds nothing."""
        kind = payload.get("type") if isinstance(payload, dict) else None
        if not isinstance(kind, str) or error_in(payload):
            detail = failures.detail_of(payload)
            if detail == failures.Detail():
                raise failed(self.vendor, "sent an event without a type")
            raise self.failure(detail)
        return self._event(kind, payload)

    @abstractmethod
    def _event(self, kind: str, event: Mapping[str, Any]) -> Completion | None:
        """Decode an event of type `kind`; None if it holds nothing."""

    def _chunk(
        self,
        text: str = "",
        finish: tuple[Ending | None, str | None] = (None, None),
        usage: Usage | None = None,
        tier: str | None = None,
    ) -> Completion:
        """Return a chunk; without text or reason, it has no choice: a sign of life."""
        reason, native = finish
        choice = Choice(0, text, reason, None, native)
        choices = (choice,) if text or reason else ()
        return Completion(self._id, self._created, self._model, choices, usage, None, tier)


def name_or(value: Any, default: str = "") -> str:
    """Return a name that the vendor sent, or the default if it is missing or not a text."""
    return value if isinstance(value, str) and value else default


def text_of(vendor: Vendor, block: Mapping[str, Any]) -> str:
    """Return a content block's `text`.

    Raises: VendorFailed if it has none.
    """
    text = block.get("text")
    if not isinstance(text, str):
        raise failed(vendor, "sent a content block without text")
    return text


def joined_text(vendor: Vendor, content: Any) -> str:
    """Return the text of a message's content, without its reasoning.

    Raises: VendorFailed if it is not a list of content blocks.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise failed(vendor, "sent a message without content blocks")
    return "".join(text_of(vendor, block) for block in content if block.get("type") == "text")
