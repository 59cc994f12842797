"""Anthropic's messages and events as chunks; `message_stop` is the end mark.

A refusal by the vendor's safety checks ends the choice like a filter; the vendor's explanation is
the message's `refusal`.
"""

from collections.abc import Mapping
from typing import Any

from app.gateways.anthropic.blocks import Blocks, Piece
from app.gateways.anthropic.errors import failure
from app.gateways.anthropic.usage import decode_usage
from app.gateways.decoding import failures
from app.gateways.decoding.error_bodies import error_in
from app.gateways.decoding.finish import GOES_ON, Finish, narrow
from app.gateways.decoding.parsing import failed, plain_mapping
from app.gateways.decoding.typed_events import TypedEvents, name_or
from app.gateways.stops import StopCutter, as_list
from app.vendors.vendor import Vendor
from app.vocabulary.chat.reply import merged
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.completion import Choice, Completion, Usage
from app.vocabulary.errors import GatewayError

CUT = Finish("stop")


class AnthropicDecoder(TypedEvents):
    """Decodes one response to a chat request."""

    def __init__(self, vendor: Vendor, request: ChatRequest) -> None:
        super().__init__(vendor, request)
        # The vendor rejects stop sequences of only white space.
        blank = [stop for stop in as_list(request.stop) if not stop.strip()]
        self._cutter = StopCutter(blank)
        self._blocks = Blocks(vendor, self._cutter)
        self._is_cut = False  # whether the end at a stop sequence has been passed on
        self._counts: dict[str, Any] = {}

    def read_whole(self, payload: Any) -> Completion:
        message = plain_mapping(payload)
        if error_in(message):
            raise self.failure(failures.detail_of(message))
        self._begin(message)
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        if not isinstance(content, list) or not all(isinstance(block, dict) for block in content):
            raise failed(self.vendor, "sent a message without content blocks")
        pieces = [self._blocks.whole(block) for block in content]
        pieces.append(self._blocks.end(_refusal(message)))
        finish = CUT if self._cutter.is_cut else narrow(self.vendor, message.get("stop_reason"))
        text = "".join(text for text, _ in pieces)
        reply = merged(reply for _, reply in pieces if reply is not None)
        chunk = self._of((text, reply), finish, self.usage(message), _tier(message))
        # A message without anything is still a choice.
        return chunk if chunk.choices else chunk._replace(choices=(Choice(0, ""),))

    def failure(self, detail: failures.Detail) -> GatewayError:
        return failure(self.vendor, None, detail)

    def usage(self, payload: Any) -> Usage | None:
        """Return the usage so far. Events repeat running totals; one that is 0 is no update.

        `message_start` counts at most one output token, which is ignored.
        """
        body = plain_mapping(payload)
        is_start = body.get("type") == "message_start"
        around = plain_mapping(body.get("message")) if is_start else body
        usage = plain_mapping(around.get("usage"))
        new = {name: count for name, count in usage.items() if count}
        if is_start:
            new.pop("output_tokens", None)
        self._counts |= new
        return decode_usage(self._counts) if new else None

    def _event(self, kind: str, event: Mapping[str, Any]) -> Completion | None:
        match kind:
            case "message_start":
                message = plain_mapping(event.get("message"))
                self._begin(message)
                begun = self._chunk(usage=self.usage(event), tier=_tier(message))
                return begun._replace(choices=(Choice(0, ""),))
            case "content_block_start" | "content_block_delta" | "content_block_stop":
                return self._piece(self._block(kind, event))
            case "message_delta":
                return self._end(event)
            case "message_stop":
                self.is_over = True
                return self._of(self._blocks.end())
        return None

    def _begin(self, message: Mapping[str, Any]) -> None:
        self._id = name_or(message.get("id"))
        self._model = name_or(message.get("model"), self._model)

    def _block(self, kind: str, event: Mapping[str, Any]) -> Piece:
        if kind == "content_block_start":
            block = plain_mapping(event.get("content_block"))
            is_empty = block.get("type") == "text" and block.get("text") is None
            return self._blocks.start({**block, "text": ""} if is_empty else block)
        if kind == "content_block_delta":
            return self._blocks.delta(plain_mapping(event.get("delta")))
        return self._blocks.stop()

    def _piece(self, piece: Piece) -> Completion:
        """Return a chunk; where the text was cut, the choice ends.

        A piece without anything for the caller still shows that the vendor is at work.
        """
        if not self._cutter.is_cut or self._is_cut:
            return self._chunk(piece[0]) if piece[1] is None else self._of(piece)
        self._is_cut = True
        return self._of((piece[0], self._blocks.end()[1]), CUT)

    def _end(self, event: Mapping[str, Any]) -> Completion:
        delta = plain_mapping(event.get("delta"))
        finish = GOES_ON if self._is_cut else narrow(self.vendor, delta.get("stop_reason"))
        piece: Piece = ("", None)
        if finish.reason is not None:
            piece = self._blocks.end(_refusal(delta))
        return self._of(piece, finish, self.usage(event))

    def _of(
        self,
        piece: Piece,
        finish: Finish = GOES_ON,
        usage: Usage | None = None,
        tier: str | None = None,
    ) -> Completion:
        text, reply = piece
        chunk = self._chunk(text, finish, usage, tier)
        if reply is None:
            return chunk
        choice = Choice(0, text, finish.reason, None, finish.native, None, reply)
        return chunk._replace(choices=(choice,))


def _refusal(holder: Mapping[str, Any]) -> str:
    """Return the vendor's explanation of a refusal; "" if there is none."""
    return name_or(plain_mapping(holder.get("stop_details")).get("explanation"))


def _tier(message: Mapping[str, Any]) -> str | None:
    return name_or(plain_mapping(message.get("usage")).get("service_tier")) or None
