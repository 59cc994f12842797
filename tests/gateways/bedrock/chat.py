"""Bedrock's chat gateway, its simulated vendor, and requests and replies for both."""

from typing import Any
from urllib.parse import quote

from tests.gateways.chat_rows import ChatRow
from tests.support.vendor import Asked, Reply
from tests.support.vendors.bedrock import REGION
from tests.support.vendors.chat.bedrock import BedrockChat
from tests.support.vendors.chat.script import Answer

ENV = {"AWS_REGION": REGION, "AWS_BEARER_TOKEN_BEDROCK": "sk-test"}
ROW = ChatRow("bedrock", ENV)
LAX = ChatRow("bedrock", ENV, drop_unsupported=True)

#: Models with budgets, with efforts, of other makers, and one that does not reason.
BUDGETS = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
EFFORTS = "anthropic.claude-opus-4-6-v1"
NOVA = "us.amazon.nova-2-lite-v1:0"
GPT = "openai.gpt-oss-120b-1:0"
OLD = "anthropic.claude-3-5-haiku-20241022-v1:0"
QWEN = "qwen.qwen3-32b-v1:0"


def sent(model: str, messages: Any = "hi", **fields: Any) -> dict[str, Any]:
    """Return the body that the vendor gets, which it accepts."""
    encoded = ROW.encoded(model, messages, **fields)
    body = ROW.sent(model, messages, **fields)
    operation = encoded.url.rpartition("/")[2]
    assert refusal(model, body, operation) is None, refusal(model, body, operation)
    return body


def refusal(model: str, body: dict[str, Any], operation: str = "converse") -> bytes | None:
    """Return what the vendor refuses of a body, by its service model and its rules; or None."""
    reply = BedrockChat(model).check(_asked(model, body, operation))
    return None if reply is None else bytes_of(reply)


def said(answer: Answer, *, stream: bool = False) -> bytes:
    """Return the vendor's answer as bytes."""
    operation = "converse-stream" if stream else "converse"
    return bytes_of(BedrockChat(BUDGETS).says(_asked(BUDGETS, {}, operation), answer))


def bytes_of(reply: Reply) -> bytes:
    """Return a reply's whole body."""
    return b"".join(step for step in reply.body if isinstance(step, bytes))


def _asked(model: str, body: dict[str, Any], operation: str) -> Asked:
    path = f"/model/{quote(model, safe='')}/{operation}"
    return Asked(path, {"authorization": "Bearer sk-test"}, body, 1)
