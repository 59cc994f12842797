"""A conversation as Anthropic's `system` and `messages`.

- An assistant's turn begins with its signed reasoning, as it came, then has its text and its calls.
- A user's turn begins with the results of calls.
- Instructions are `system`; models that take later ones in their place get them there.
- Marks of caches stay where the caller has put them.
"""

import re
from typing import Any

from app.gateways.anthropic.parts import Block, blocks_of, marked, text_blocks
from app.gateways.conversation.arguments import arguments_object
from app.gateways.conversation.call_ids import CallIds
from app.gateways.conversation.marks import mark_of, marked_parts, result_parts
from app.gateways.conversation.omissions import Omissions
from app.gateways.conversation.reasoning import thinking_blocks
from app.gateways.conversation.turns import Conversation, ToolResult, Turn
from app.vendors.vendor import Vendor
from app.vocabulary.chat.message import Message

CALL_ID = re.compile(r"[a-zA-Z0-9_-]+", re.ASCII)
CALL_ID_LIMIT = 64


class MessageEncoder:
    """Converts one request's conversation. `thinks`: signed reasoning is sent back."""

    def __init__(self, vendor: Vendor, omissions: Omissions, *, thinks: bool) -> None:
        self._vendor, self._omissions, self._thinks = vendor, omissions, thinks
        self._ids = CallIds(CALL_ID, CALL_ID_LIMIT)

    def system(self, talk: Conversation) -> list[Block]:
        """Return the instructions, a block for each part."""
        parts = [part for message in talk.instructions for part in marked_parts(message)]
        return text_blocks(self._vendor, parts)

    def messages(self, talk: Conversation) -> list[dict[str, Any]]:
        """Return the turns; a turn that is one plain text has it as its content."""
        return [{"role": turn.side, "content": _plain(self._content(turn))} for turn in talk.turns]

    def _content(self, turn: Turn) -> list[Block]:
        blocks = [self._result(result) for result in turn.results]
        for message in turn.messages:
            parts = marked_parts(message)
            if turn.side == "assistant":
                blocks += self._said(message)
            elif turn.side == "system":
                blocks += text_blocks(self._vendor, parts)
            else:
                blocks += blocks_of(self._vendor, parts, self._omissions)
        return blocks

    def _said(self, message: Message) -> list[Block]:
        """Return the blocks of an assistant's message."""
        thoughts = thinking_blocks(message)
        if thoughts and not self._thinks:
            self._omissions.leave_out_hint("thinking_blocks")
            thoughts = []
        blocks = [*thoughts, *text_blocks(self._vendor, marked_parts(message))]
        if isinstance(refusal := message.source.get("refusal"), str) and refusal.strip():
            blocks.append({"type": "text", "text": refusal})
        for position, call in enumerate(message.tool_calls):
            block = {
                "type": "tool_use",
                "id": self._ids.new(call.id or ""),
                "name": call.name,
                "input": arguments_object(message, position, call),
            }
            blocks.append(marked(block, mark_of(call.extra or {})))
        return blocks

    def _result(self, result: ToolResult) -> Block:
        """Return a result; one that is one plain text has it as its content."""
        call_id = self._ids.of(result.call.id or "")
        block: Block = {"type": "tool_result", "tool_use_id": call_id}
        parts = result_parts(result.message)
        if content := _plain(blocks_of(self._vendor, parts, self._omissions)):
            block["content"] = content
        return marked(block, mark_of(result.message.source))


def _plain(blocks: list[Block]) -> list[Block] | str:
    if len(blocks) == 1 and blocks[0].keys() == {"type", "text"}:
        return str(blocks[0]["text"])
    return blocks
