"""Every conversation reaches the vendor as it takes it, or is refused by the path of its fault."""

from typing import Any

from hypothesis import given, settings

from app.vocabulary.errors import InvalidRequest
from tests.gateways.cohere.chat import COHERE, REASONING
from tests.gateways.conversation.conversations import CONVERSATIONS, FIELDS
from tests.support.vendor import Asked
from tests.support.vendors.chat.cohere import CohereChat


@settings(max_examples=100)
@given(messages=CONVERSATIONS, fields=FIELDS)
def test_the_vendor_takes_what_is_not_refused(messages: list[Any], fields: dict[str, Any]) -> None:
    body: dict[str, Any] | None = None
    path = ""
    try:
        body = COHERE.sent(REASONING, messages, **fields)
    except InvalidRequest as error:
        path = error.param or ""
    if body is None:
        assert path.startswith(("messages", "reasoning_effort"))
        return
    asked = Asked("/v2/chat", {"authorization": "Bearer sk-test"}, body, 0)
    reply = CohereChat().check(asked)
    assert reply is None, reply.body
