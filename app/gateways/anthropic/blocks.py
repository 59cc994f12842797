"""The content blocks of one reply, whole or as they stream. No I/O.

Blocks come one after another. Text becomes text, `thinking` reasoning, `tool_use` a call. Blocks of
tools that the vendor runs itself are not the caller's calls, and have nothing for the caller.
Signed reasoning and the citations of web pages are given out once, at the end, as
`thinking_blocks` and `annotations`: official clients cannot join such lists from pieces.
"""

from collections.abc import Mapping
from typing import Any

from app.formats import strict_json
from app.gateways.conversation.origins import issuer_of, marked
from app.gateways.decoding.parsing import failed, plain_mapping
from app.gateways.decoding.typed_events import text_of
from app.gateways.stops import StopCutter
from app.vendors.vendor import Vendor
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall

#: What a block, or a piece of it, adds to the reply: its text, and what it holds beside it.
Piece = tuple[str, Reply | None]

NOTHING: Piece = ("", None)


class Blocks:
    """The blocks of one reply; `cutter` ends its text at stop sequences that the vendor rejects."""

    def __init__(self, vendor: Vendor, cutter: StopCutter) -> None:
        self._vendor, self._cutter = vendor, cutter
        self._calls = 0
        self._input: Mapping[str, Any] = {}  # of the open call, until a piece of it comes
        self._open: str | None = None  # the type of the block whose deltas follow
        self._thought: dict[str, list[str]] | None = None  # pieces of the open block's fields
        self._thoughts: list[dict[str, str]] = []
        self._length = self._began = 0  # of the text, in characters; and where its block begins
        self._citations: list[Mapping[str, Any]] = []
        self._annotations: list[dict[str, Any]] = []

    def start(self, block: Mapping[str, Any]) -> Piece:
        """Begin a block; what it holds already is its first piece."""
        kind = block.get("type")
        self._open = kind if isinstance(kind, str) else None
        if self._cutter.is_cut:
            return NOTHING
        match kind:
            case "text":
                self._began = self._length
                return self._text(block)
            case "thinking":
                self._thought = {"thinking": [], "signature": []}
                return self._thinking(block)
            case "redacted_thinking" if isinstance(data := block.get("data"), str):
                self._thoughts.append({"type": "redacted_thinking", "data": data})
            case "tool_use":
                self._calls += 1
                self._input = plain_mapping(block.get("input"))
                return self._call(ToolCall(self._calls, _named(block, "id"), _named(block, "name")))
        return NOTHING

    def delta(self, delta: Mapping[str, Any]) -> Piece:
        """Add a piece to the open block."""
        if self._cutter.is_cut:
            return NOTHING
        match delta.get("type"):
            case "text_delta":
                return self._text(delta)
            case "thinking_delta" | "signature_delta":
                return self._thinking(delta)
            case "input_json_delta" if self._open in (None, "tool_use"):
                json = delta.get("partial_json")
                arguments = json if isinstance(json, str) else ""
                if not json:
                    return NOTHING
                self._input = {}
                return self._call(ToolCall(self._calls, arguments=arguments))
            case "citations_delta":
                self._citations.append(plain_mapping(delta.get("citation")))
        return NOTHING

    def stop(self) -> Piece:
        """End the open block; return the arguments that some hosts put into a call's beginning."""
        whole, self._input = self._input, {}
        if self._open == "thinking" and self._thought is not None:
            thought = {name: "".join(pieces) for name, pieces in self._thought.items()}
            if thought["signature"]:
                self._thoughts.append({"type": "thinking", **thought})
        self._thought = self._open = None
        self._annotate()
        if not whole:
            return NOTHING
        return self._call(ToolCall(self._calls, arguments=strict_json.dump(whole).decode()))

    def whole(self, block: Mapping[str, Any]) -> Piece:
        """Add a block of a whole message."""
        piece = self.start(block)
        citations = block.get("citations")
        if isinstance(citations, list):
            self._citations += [plain_mapping(citation) for citation in citations]
        self.stop()
        text, reply = piece
        if reply is None or not reply.tool_calls:
            return piece
        (call,) = reply.tool_calls
        arguments = strict_json.dump(plain_mapping(block.get("input"))).decode()
        return text, Reply(tool_calls=(ToolCall(call.index, call.id, call.name, arguments),))

    def end(self, refusal: str = "") -> Piece:
        """Return what is given out once, with the text that was held back: at the end alone."""
        text = "" if self._cutter.is_cut else self._cutter.flush()
        lists = {"thinking_blocks": self._thoughts, "annotations": self._annotations}
        extra: dict[str, Any] = {name: items for name, items in lists.items() if items}
        if self._thoughts:
            extra = marked(extra, issuer_of(self._vendor))
        self._thoughts, self._annotations = [], []
        return text, Reply(refusal=refusal, extra=extra or None) if refusal or extra else None

    def _text(self, holder: Mapping[str, Any]) -> Piece:
        text = self._cutter.feed(text_of(self._vendor, holder))
        self._length += len(text)
        return text, None

    def _thinking(self, holder: Mapping[str, Any]) -> Piece:
        thinking, signature = _named(holder, "thinking") or "", _named(holder, "signature") or ""
        if self._thought is not None:
            self._thought["thinking"].append(thinking)
            self._thought["signature"].append(signature)
        return "", Reply(reasoning=thinking) if thinking else None

    def _call(self, call: ToolCall) -> Piece:
        """Return a piece of a call; the text before it can no longer end in a stop sequence."""
        text = self._cutter.flush()
        self._length += len(text)
        if call.index < 1:
            raise failed(self._vendor, "sent arguments without a tool call")
        return text, Reply(tool_calls=(call,))

    def _annotate(self) -> None:
        """Note the web pages that the text block before is quoted from."""
        for citation in self._citations:
            if isinstance(url := citation.get("url"), str) and url:
                cited = {
                    "start_index": self._began,
                    "end_index": self._length,
                    "title": _named(citation, "title") or "",
                    "url": url,
                }
                self._annotations.append({"type": "url_citation", "url_citation": cited})
        self._citations = []


def _named(holder: Mapping[str, Any], name: str) -> str | None:
    value = holder.get(name)
    return value if isinstance(value, str) else None
