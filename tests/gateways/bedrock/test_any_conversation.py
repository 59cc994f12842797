"""Every conversation reaches the vendor as it takes it, or is refused by the path of its fault."""

from typing import Any

import pytest
from hypothesis import given, settings

from app.vocabulary.errors import InvalidRequest
from tests.gateways.bedrock.chat import BUDGETS, EFFORTS, NOVA, QWEN, ROW, refusal
from tests.gateways.conversation.conversations import CONVERSATIONS, FIELDS


@pytest.mark.parametrize("model", [BUDGETS, EFFORTS, NOVA, QWEN])
@settings(max_examples=50)
@given(messages=CONVERSATIONS, fields=FIELDS)
def test_the_vendor_takes_what_is_not_refused(
    model: str, messages: list[Any], fields: dict[str, Any]
) -> None:
    body: dict[str, Any] | None = None
    path = ""
    try:
        body = ROW.sent(model, messages, **fields)
    except InvalidRequest as error:
        path = error.param or ""
    if body is None:
        assert path.startswith(("messages", "reasoning_effort"))
        return
    assert refusal(model, body) is None
