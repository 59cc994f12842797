"""Converse's responses and events as chunks; reasoning is not part of the text."""

from collections.abc import Mapping
from typing import Any

from app.gateways.bedrock.common import BedrockDecoder, Delta, decode_usage
from app.gateways.bedrock.reply import Piece, ReplyBlocks
from app.gateways.decoding.finish import Finish, narrow
from app.gateways.decoding.parsing import failed, plain_mapping, whole
from app.vendors.vendor import Vendor
from app.vocabulary.chat.reply import merged
from app.vocabulary.completion import Completion, Usage
from app.vocabulary.request import GenerationRequest

COUNTS = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")

#: The objects around Claude's own count of its reasoning, and the count.
REASONING_COUNT = (
    "additionalModelResponseFields",
    "usage",
    "output_tokens_details",
    "thinking_tokens",
)


class ConverseDecoder(BedrockDecoder):
    """Decodes one response to a chat request."""

    def __init__(self, vendor: Vendor, request: GenerationRequest) -> None:
        super().__init__(vendor, request)
        self._blocks = ReplyBlocks(vendor)
        self._reasoning_tokens = 0

    def read(self, payload: Any) -> Completion | None:
        kind, event = payload if isinstance(payload, tuple) else ("", payload)
        body = plain_mapping(event)
        match kind:
            case "contentBlockStart":
                return self._piece(self._blocks.start(body))
            case "contentBlockDelta":
                return self._piece(self._blocks.delta(body))
            case "messageStop":
                self._note_reasoning(body)
                finish = narrow(self.vendor, body.get("stopReason"))
                finish = finish if finish.reason else Finish("stop")
                return self.completion(Delta(finish=finish, reply=self._blocks.end()))
            case "metadata":
                told = Delta(usage=self.usage(payload), tier=_tier(body), extra=_trace(body))
                return self.completion(told)
        return None

    def read_whole(self, payload: Any) -> Completion:
        response = plain_mapping(payload)
        output = plain_mapping(response.get("output"))
        content = plain_mapping(output.get("message")).get("content")
        if not isinstance(content, list):
            raise failed(self.vendor, "sent a response without a message")
        pieces = [self._blocks.whole(index, block) for index, block in enumerate(content)]
        pieces.append(("", self._blocks.end()))
        text = "".join(text for text, _ in pieces)
        reply = merged(reply for _, reply in pieces if reply is not None)
        finish = narrow(self.vendor, response.get("stopReason"))
        delta = Delta(text, finish, self.usage(payload), _tier(response), reply, _trace(response))
        return self.completion(delta, is_whole=True)

    def usage(self, payload: Any) -> Usage | None:
        body = plain_mapping(payload[1] if isinstance(payload, tuple) else payload)
        self._note_reasoning(body)
        counts = plain_mapping(body.get("usage"))
        more = {
            "cache_write_1h_tokens": _written_for_an_hour(counts.get("cacheDetails")),
            "reasoning_tokens": self._reasoning_tokens,
            "web_search_calls": self._blocks.searches,
        }
        return decode_usage(counts, COUNTS, {name: count for name, count in more.items() if count})

    def _piece(self, piece: Piece) -> Completion:
        text, reply = piece
        return self.completion(Delta(text, reply=reply))

    def _note_reasoning(self, body: Mapping[str, Any]) -> None:
        """Note the model's own count of its reasoning, which comes before the usage."""
        *holders, name = REASONING_COUNT
        for holder in holders:
            body = plain_mapping(body.get(holder))
        self._reasoning_tokens = whole(body.get(name)) or self._reasoning_tokens


def _written_for_an_hour(details: Any) -> int:
    """Return the tokens written to the cache for an hour; `details` is a list by life time."""
    entries = [plain_mapping(entry) for entry in details] if isinstance(details, list) else []
    return sum(whole(it.get("inputTokens")) or 0 for it in entries if it.get("ttl") == "1h")


def _trace(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what guardrails and prompt routers have done, as the vendor tells it; or None."""
    trace = plain_mapping(body.get("trace"))
    return {"trace": trace} if trace else None


def _tier(body: Mapping[str, Any]) -> str | None:
    tier = plain_mapping(body.get("serviceTier")).get("type")
    return tier if isinstance(tier, str) and tier else None
