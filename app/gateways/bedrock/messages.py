"""A conversation as Converse's `system` and `messages`.

- An assistant's turn has its signed reasoning, then its text, then its calls.
- Instructions are `system`; models that take later ones in their place get them there.
- A user's turn begins with the results of calls. One with a document must have a text, too:
  Tollgate adds none.
"""

import re
from typing import Any

from app.gateways.bedrock.parts import Block, PartEncoder
from app.gateways.conversation.arguments import arguments_object
from app.gateways.conversation.call_ids import CallIds
from app.gateways.conversation.marks import mark_of, marked_parts, result_parts
from app.gateways.conversation.omissions import Omissions
from app.gateways.conversation.reasoning import thinking_blocks
from app.gateways.conversation.turns import Conversation, ToolResult, Turn
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import FilePart
from app.vocabulary.errors import InvalidRequest

CALL_ID = re.compile(r"[a-zA-Z0-9_.:-]+", re.ASCII)
CALL_ID_LIMIT = 64


class MessageEncoder:
    """Converts one request's conversation. `thinks`: signed reasoning is sent back."""

    def __init__(self, parts: PartEncoder, omissions: Omissions, *, thinks: bool) -> None:
        self._parts, self._omissions, self._thinks = parts, omissions, thinks
        self._ids = CallIds(CALL_ID, CALL_ID_LIMIT)

    def system(self, talk: Conversation) -> list[Block]:
        """Return the instructions, a block for each part."""
        parts = [part for message in talk.instructions for part in marked_parts(message)]
        return self._parts.texts(parts)

    def messages(self, talk: Conversation) -> list[dict[str, Any]]:
        """Return the turns."""
        said = {"assistant": self._said, "system": self._told, "user": self._asked}
        return [{"role": turn.side, "content": said[turn.side](turn)} for turn in talk.turns]

    def _told(self, turn: Turn) -> list[Block]:
        """Return later instructions in their place."""
        return self._parts.texts(part for it in turn.messages for part in marked_parts(it))

    def _asked(self, turn: Turn) -> list[Block]:
        results = [block for result in turn.results for block in self._result(result)]
        blocks: list[Block] = []
        for message in turn.messages:
            blocks += self._parts.blocks(marked_parts(message))
        if not any("text" in block for block in blocks):
            self._check_no_document(turn, blocks)
        return [*results, *blocks]

    def _check_no_document(self, turn: Turn, blocks: list[Block]) -> None:
        """Refuse a document in a turn without a text."""
        for message in turn.messages if any("document" in block for block in blocks) else ():
            if any(isinstance(part, FilePart) for part in message.parts):
                path = f"{message.path}.content"
                raise InvalidRequest(
                    f"`{path}` must have a text beside its file, which the vendor requires: add "
                    "one.",
                    param=path,
                )

    def _said(self, turn: Turn) -> list[Block]:
        """Return an assistant's turn in the order that the vendor requires."""
        thoughts: list[Block] = []
        texts: list[Block] = []
        calls: list[Block] = []
        for message in turn.messages:
            thoughts += self._thoughts(message)
            texts += self._parts.texts(marked_parts(message))
            if isinstance(refusal := message.source.get("refusal"), str) and refusal.strip():
                texts.append({"text": refusal})
            for position, call in enumerate(message.tool_calls):
                used = {
                    "toolUseId": self._ids.new(call.id or ""),
                    "name": call.name,
                    "input": arguments_object(message, position, call),
                }
                calls += [{"toolUse": used}, *self._parts.point(mark_of(call.extra or {}))]
        return [*thoughts, *texts, *calls]

    def _thoughts(self, message: Message) -> list[Block]:
        thoughts = thinking_blocks(message)
        if thoughts and not self._thinks:
            self._omissions.leave_out_hint("thinking_blocks")
            return []
        return [{"reasoningContent": _reasoning(thought)} for thought in thoughts]

    def _result(self, result: ToolResult) -> list[Block]:
        """Return a result; a mark of one of its parts is one of the whole."""
        parts = result_parts(result.message)
        marks = [mark for _, mark in parts if mark is not None]
        content = [self._parts.block(part) for part, _ in parts]
        call_id = self._ids.of(result.call.id or "")
        mark = mark_of(result.message.source) or (marks[-1] if marks else None)
        block = {"toolResult": {"toolUseId": call_id, "content": content}}
        return [block, *self._parts.point(mark)]


def _reasoning(thought: dict[str, Any]) -> Block:
    if thought["type"] == "redacted_thinking":
        return {"redactedContent": thought["data"]}
    return {"reasoningText": {"text": thought["thinking"], "signature": thought["signature"]}}
