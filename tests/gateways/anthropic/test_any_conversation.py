"""Every conversation reaches the vendor as it takes it, or is refused by the path of its fault."""

from typing import Any

import pytest
from hypothesis import given, settings

from app.vocabulary.errors import InvalidRequest
from tests.gateways.anthropic.chat import BUDGETS, EFFORTS, OLD, ROW, complaint
from tests.gateways.conversation.conversations import CONVERSATIONS, FIELDS

#: What the vendor says of marks alone, whose number is the caller's affair.
MARKS = b"A maximum of 4 blocks"


@pytest.mark.parametrize("model", [BUDGETS, EFFORTS, OLD])
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
    wrong = complaint(body)
    assert wrong is None or MARKS in wrong
