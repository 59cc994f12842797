"""The content blocks of one of Converse's replies, whole or as they stream. No I/O.

Text and reasoning begin with their first piece. Signed reasoning is given out once, at the end, as
`thinking_blocks`, and so are the web pages that it cites, as `annotations`. Images are in the
message's `images`, as data URLs. Blocks of tools that the vendor runs itself have nothing for the
caller; its searches are counted.
"""

from collections.abc import Mapping
from typing import Any

from app.formats import strict_json
from app.gateways.bedrock.citations import Citations
from app.gateways.bedrock.quirks import GROUNDING
from app.gateways.conversation.origins import issuer_of, marked
from app.gateways.decoding.parsing import failed, plain_mapping, whole
from app.vendors.vendor import Vendor
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall

#: The type of a call of a tool that the vendor runs itself. A call of the caller's tool has no
#: type, or `tool_use`: Claude's models say so, although botocore's model does not know it.
SERVERS = "server_tool_use"

#: What a block, or a piece of it, adds to the reply: its text, and what it holds beside it.
Piece = tuple[str, Reply | None]


class ReplyBlocks:
    """The blocks of one reply."""

    def __init__(self, vendor: Vendor) -> None:
        self._vendor = vendor
        self._calls: set[int] = set()  # indices of blocks with calls of the caller's tools
        self._thoughts: dict[int, _Thought] = {}
        self._citations = Citations()
        #: How often the vendor has searched the web.
        self.searches = 0
        self._images = 0
        self._formats: dict[int, str] = {}  # of the images whose bytes follow, by their blocks

    def start(self, event: Mapping[str, Any]) -> Piece:
        """Begin a block: those of calls and of images have a beginning."""
        drawn = plain_mapping(plain_mapping(event.get("start")).get("image"))
        self._formats[_index(event)] = _text(drawn, "format")
        used = plain_mapping(plain_mapping(event.get("start")).get("toolUse"))
        if not used or self._is_the_vendors(used):
            return "", None
        index = _index(event)
        self._calls.add(index)
        return "", _call(index, used, "")

    def delta(self, event: Mapping[str, Any]) -> Piece:
        """Add a piece to a block."""
        index, delta = _index(event), plain_mapping(event.get("delta"))
        if (used := plain_mapping(delta.get("toolUse"))) and index in self._calls:
            arguments = _text(used, "input")
            return "", Reply(tool_calls=(ToolCall(index, arguments=arguments),))
        if reasoning := plain_mapping(delta.get("reasoningContent")):
            return "", self._reasoning(index, reasoning)
        if drawn := plain_mapping(delta.get("image")):
            return "", self._image({"format": self._formats.get(index), **drawn})
        if cited := delta.get("citation"):
            self._citations.cite(index, [cited])
        return self._checked(index, delta), None

    def whole(self, index: int, block: Any) -> Piece:
        """Add a block of a whole reply."""
        block = plain_mapping(block)
        if used := plain_mapping(block.get("toolUse")):
            arguments = strict_json.dump(plain_mapping(used.get("input"))).decode()
            return "", None if self._is_the_vendors(used) else _call(index, used, arguments)
        if reasoning := plain_mapping(block.get("reasoningContent")):
            signed = plain_mapping(reasoning.get("reasoningText"))
            return "", self._reasoning(index, {**signed, **reasoning})
        if cited := plain_mapping(block.get("citationsContent")):
            parts, pages = cited.get("content"), cited.get("citations")
            texts = map(plain_mapping, parts if isinstance(parts, list) else [])
            text = "".join([self._checked(index, part) for part in texts])
            self._citations.cite(index, pages if isinstance(pages, list) else [])
            return text, None
        if drawn := plain_mapping(block.get("image")):
            return "", self._image(drawn)
        return self._checked(index, block), None

    def end(self) -> Reply | None:
        """Return what is given out once, at the end. Reasoning without a signature is not."""
        thoughts = [self._thoughts[index].block() for index in sorted(self._thoughts)]
        blocks = [thought for thought in thoughts if thought.get("signature") or "data" in thought]
        self._thoughts, citations = {}, self._citations
        self._citations = Citations()
        extra: dict[str, Any] = {}
        if blocks:
            extra = marked({"thinking_blocks": blocks}, issuer_of(self._vendor))
        if annotations := citations.annotations():
            extra["annotations"] = annotations
        return Reply(extra=extra) if extra else None

    def _is_the_vendors(self, used: Mapping[str, Any]) -> bool:
        """Whether a use of a tool is one that the vendor runs itself; count its searches."""
        is_theirs = used.get("type") == SERVERS
        if is_theirs and used.get("name") == GROUNDING:
            self.searches += 1
        return is_theirs

    def _reasoning(self, index: int, reasoning: Mapping[str, Any]) -> Reply | None:
        if redacted := _text(reasoning, "redactedContent"):
            thought = self._thoughts.setdefault(index, _Thought("redacted_thinking", ("data",)))
            thought.add(data=redacted)
            return None
        fields = ("thinking", "signature")
        thought = self._thoughts.setdefault(index, _Thought("thinking", fields))
        text = _text(reasoning, "text")
        thought.add(thinking=text, signature=_text(reasoning, "signature"))
        return Reply(reasoning=text) if text else None

    def _image(self, image: Mapping[str, Any]) -> Reply | None:
        data = _text(plain_mapping(image.get("source")), "bytes")
        if not data:
            return None
        url = f"data:image/{_text(image, 'format') or 'png'};base64,{data}"
        at, self._images = self._images, self._images + 1
        entry = {"type": "image_url", "image_url": {"url": url}, "index": at}
        return Reply(extra={"images": [entry]})

    def _checked(self, index: int, block: Mapping[str, Any]) -> str:
        """Return a block's text; "" for a block of another kind."""
        text = block.get("text") or ""
        if not isinstance(text, str):
            raise failed(self._vendor, "sent a content block without text")
        return self._citations.text(index, text)


class _Thought:
    """A block of reasoning while it comes, in any number of pieces."""

    def __init__(self, of_type: str, fields: tuple[str, ...]) -> None:
        self._type = of_type
        self._fields: dict[str, list[str]] = {name: [] for name in fields}

    def add(self, **pieces: str) -> None:
        """Add pieces of its fields."""
        for name, piece in pieces.items():
            self._fields.setdefault(name, []).append(piece)

    def block(self) -> dict[str, str]:
        """Return it as a block of `thinking_blocks`."""
        return {"type": self._type, **{n: "".join(it) for n, it in self._fields.items()}}


def _call(index: int, used: Mapping[str, Any], arguments: str) -> Reply:
    call = ToolCall(index, _text(used, "toolUseId") or None, _text(used, "name"), arguments)
    return Reply(tool_calls=(call,))


def _index(event: Mapping[str, Any]) -> int:
    return whole(event.get("contentBlockIndex")) or 0


def _text(holder: Mapping[str, Any], name: str) -> str:
    value = holder.get(name)
    return value if isinstance(value, str) else ""
