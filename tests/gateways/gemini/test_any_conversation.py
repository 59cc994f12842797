"""Every conversation reaches the vendor as it takes it, or is refused by the path of its fault."""

from typing import Any

import pytest
from hypothesis import given, settings

from app.vocabulary.errors import InvalidRequest
from tests.gateways.chat_rows import ChatRow
from tests.gateways.conversation.conversations import CONVERSATIONS, FIELDS
from tests.gateways.gemini.chat import GEMINI, NEW, OLD, VERTEX
from tests.support.vendor import Asked
from tests.support.vendors.chat.gemini import GeminiChat, VertexChat

WIRES = {"gemini": GeminiChat(), "vertex_ai": VertexChat()}


def refusal(name: str, model: str, body: dict[str, Any]) -> Any:
    """Return what the vendor refuses of a body; None if it takes it."""
    asked = Asked(f"/v1beta/models/{model}:generateContent", {}, body, 0)
    reply = WIRES[name].check_body(asked)
    return reply and reply.body


@pytest.mark.parametrize("row", [GEMINI, VERTEX], ids=["gemini", "vertex_ai"])
@pytest.mark.parametrize("model", [NEW, OLD])
@settings(max_examples=50)
@given(messages=CONVERSATIONS, fields=FIELDS)
def test_the_vendor_takes_what_is_not_refused(
    row: ChatRow, model: str, messages: list[Any], fields: dict[str, Any]
) -> None:
    body: dict[str, Any] | None = None
    path = ""
    try:
        body = row.sent(model, messages, **fields)
    except InvalidRequest as error:
        path = error.param or ""
    if body is None:
        assert path.startswith(("messages", "reasoning_effort"))
        return
    assert refusal(row.vendor.name, model, body) is None
