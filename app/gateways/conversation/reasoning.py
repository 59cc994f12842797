"""Signed reasoning that an assistant's message brings back in `thinking_blocks`.

Each block is {"type": "thinking", "thinking", "signature"} or {"type": "redacted_thinking",
"data"}, as Tollgate has put it into the reply. Reasoning text without a signature
(`reasoning_content` alone) is not sent back: no vendor of signed reasoning takes it.
"""

from typing import Any

from app.gateways.conversation.turns import Conversation
from app.vocabulary.chat.message import Message
from app.vocabulary.errors import InvalidRequest

#: Type of a block -> its fields, in the vendor's order. Clients add others, such as `index`.
FIELDS = {
    "thinking": ("type", "thinking", "signature"),
    "redacted_thinking": ("type", "data"),
}


def thinking_blocks(message: Message) -> list[dict[str, Any]]:
    """Return a message's blocks as they came, in their order; [] if it has none.

    Raises: InvalidRequest with the path of a malformed one.
    """
    found = message.source.get("thinking_blocks")
    if found is None:
        return []
    path = f"{message.path}.thinking_blocks"
    if not isinstance(found, list):
        raise InvalidRequest(f"`{path}` must be an array of blocks.", param=path)
    return [_block(f"{path}[{at}]", block) for at, block in enumerate(found)]


def _block(path: str, block: Any) -> dict[str, Any]:
    names = FIELDS.get(str(block.get("type")), ()) if isinstance(block, dict) else ()
    if not names or not all(isinstance(block.get(name), str) for name in names):
        raise InvalidRequest(
            f"`{path}` must be a block of type `thinking` with its `thinking` and `signature`, or "
            "`redacted_thinking` with its `data`, as the reply had it.",
            param=path,
        )
    return {name: block[name] for name in names}


def lacks_thinking(talk: Conversation) -> bool:
    """Whether a loop of tool calls goes on whose calls come without their reasoning.

    Vendors reject that while the model thinks: clients have dropped the field.
    """
    turns = [turn for turn in talk.turns if turn.side != "system"]
    if not turns[-1].results:
        return False
    called = [message for message in turns[-2].messages if message.tool_calls]
    return not any(thinking_blocks(message) for message in called)
