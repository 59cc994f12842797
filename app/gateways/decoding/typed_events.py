"""Streams of events that are JSON objects, each with its `type`; one choice each.

Anthropic's and Cohere's are so. What the types mean is each wire's own affair.
"""

import time
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from app.gateways.decoding import failures
from app.gateways.decoding.parsing import failed
from app.gateways.decoding.wire import Wire
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Ending, Usage


class TypedEvents(Wire):
    """One answer. A type that a wire does not know is passed over: both vendors add new ones."""

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        super().__init__(vendor, request)
        self._id = ""
        self._model = request.model_name
        self._created = int(time.time())

    def read(self, payload: Any) -> Completion | None:
        """Return what an event says, by its type; None for one that says nothing."""
        kind = payload.get("type") if isinstance(payload, dict) else None
        if not isinstance(kind, str) or failures.error_in(payload):
            said = failures.detail(payload)
            if said == failures.Detail():
                raise failed(self.vendor, "sent no event")
            raise failures.failure(self.vendor, None, said)
        return self._event(kind, payload)

    @abstractmethod
    def _event(self, kind: str, event: Mapping[str, Any]) -> Completion | None:
        """Return what an event of this type says."""

    def _chunk(
        self,
        text: str = "",
        finish: tuple[Ending | None, str | None] = (None, None),
        usage: Usage | None = None,
        tier: str | None = None,
    ) -> Completion:
        """Return a chunk; without text or reason, it has no choice, and says: still at work."""
        reason, native = finish
        choice = Choice(0, text, reason, None, native)
        choices = (choice,) if text or reason else ()
        return Completion(self._id, self._created, self._model, choices, usage, None, tier)


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
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
        raise failed(vendor, "sent no list of content blocks")
    return "".join(text_of(vendor, block) for block in content if block.get("type") == "text")
