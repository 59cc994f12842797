"""Signatures go back to those who have given them, and to nobody else."""

from typing import Any

import pytest

from app.gateways.conversation.origins import (
    disowned,
    is_signed,
    issuer_of,
    marked,
    own_signatures,
)
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.completion import CompletionRequest
from app.vocabulary.errors import VendorRejected
from tests.gateways.chat_rows import ChatRow, asked

ENV = {
    "ANTHROPIC_API_KEY": "sk-test",
    "AWS_REGION": "us-east-1",
    "CO_API_KEY": "sk-test",
    "GEMINI_API_KEY": "sk-test",
    "GOOGLE_CLOUD_PROJECT": "acme",
    "GROQ_API_KEY": "sk-test",
    "MISTRAL_API_KEY": "sk-test",
    "OPENAI_API_KEY": "sk-test",
}

GOOGLE = {"google": {"thought_signature": "c2ln"}}
BLOCK = {"type": "thinking", "thinking": "T", "signature": "S"}
CALL = {
    "id": "callCall1",
    "type": "function",
    "function": {"name": "f", "arguments": "{}"},
    "extra_content": GOOGLE,
}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
USER = {"role": "user", "content": "hi"}
RESULT = {"role": "tool", "tool_call_id": "callCall1", "content": "done"}
TOOLS = [{"type": "function", "function": {"name": "f"}}]


def mark(issuer: str, **more: Any) -> dict[str, Any]:
    return {"extra_content": {**more, "tollgate": {"issuer": issuer}}}


def said(**fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": "A", **fields}


def request(*messages: Any) -> ChatRequest:
    return asked("v/m", [USER, *messages])


def sources(found: ChatRequest) -> list[Any]:
    return [message.source for message in found.messages[1:]]


def test_entries_of_claude_share_their_signatures_and_googles_do_not() -> None:
    issuers = {
        name: issuer_of(ChatRow(name, ENV).vendor)
        for name in ("anthropic", "bedrock", "gemini", "vertex_ai", "mistral")
    }
    assert issuers == {
        "anthropic": "claude",
        "bedrock": "claude",
        "gemini": "gemini",
        "vertex_ai": "vertex_ai",
        "mistral": "mistral",
    }


def test_a_request_without_marks_stays_as_it_is() -> None:
    messages = (said(thinking_blocks=[BLOCK]), said(tool_calls=[CALL]), said(extra_content="x"))
    unmarked = request(*messages)
    assert own_signatures("a", unmarked) == (unmarked, ())


def test_own_signatures_lose_their_mark_alone() -> None:
    fields: dict[str, Any] = {"thinking_blocks": [BLOCK], "tool_calls": [CALL]}
    found, dropped = own_signatures("a", request(said(**fields, **mark("a", **GOOGLE))))
    assert sources(found) == [said(**fields, extra_content=GOOGLE)]
    assert found.messages[1].tool_calls[0].extra == {"extra_content": GOOGLE}
    assert dropped == ()
    bare, _ = own_signatures("a", request(said(**fields, **mark("a"))))
    assert sources(bare) == [said(**fields)]


@pytest.mark.parametrize("issuer", [mark("b"), mark(""), {"extra_content": {"tollgate": "a"}}])
def test_the_signatures_of_others_are_left_out_wherever_they_are(issuer: Any) -> None:
    call = {name: value for name, value in CALL.items() if name != "extra_content"}
    theirs = said(
        thinking_blocks=[BLOCK],
        reasoning_content="T",
        reasoning_details=[{}],
        tool_calls=[{**CALL, "cache_control": {}}],
        images=[{**IMAGE, "extra_content": GOOGLE}],
        **issuer,
    )
    found, dropped = own_signatures("a", request(theirs, RESULT))
    kept = said(reasoning_content="T", tool_calls=[{**call, "cache_control": {}}], images=[IMAGE])
    assert sources(found) == [kept, RESULT]
    assert found.messages[1].tool_calls[0].extra == {"cache_control": {}}
    assert set(dropped) == {"thinking_blocks", "reasoning_details", "extra_content"}


def test_a_reply_is_signed_by_its_fields_or_those_of_a_call() -> None:
    assert is_signed(Reply(extra={"thinking_blocks": [BLOCK]}))
    assert is_signed(Reply(tool_calls=(ToolCall(0, extra={"extra_content": GOOGLE}),)))
    assert not is_signed(Reply("T", extra={"annotations": [{}]}))
    assert marked({"a": 1, "extra_content": GOOGLE}, "b") == {"a": 1, **mark("b", **GOOGLE)}


REJECTIONS = [
    "Corrupted thought signature.",
    "Function call is missing a thought_signature in functionCall parts.",
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "messages.1.content.0.thinking.signature: Field required",
    "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
]


def rejected(words: str) -> VendorRejected:
    return VendorRejected(words, vendor_status=400)


@pytest.mark.parametrize("words", REJECTIONS)
def test_after_a_rejection_signatures_are_nobodys_once(words: str) -> None:
    signed = request(said(thinking_blocks=[BLOCK]), said(), said(tool_calls=[CALL]), RESULT)
    found = disowned(signed, rejected(words))
    assert found is not None
    own, dropped = own_signatures("a", found)
    assert sources(own)[:2] == [said(), said()]
    assert own.messages[3].tool_calls[0].extra is None
    assert dropped == ("thinking_blocks", "extra_content")
    assert disowned(found, rejected(words)) is None


def test_any_other_rejection_leaves_signatures_alone() -> None:
    signed = request(said(thinking_blocks=[BLOCK]))
    for words in ("The signature of the request is wrong.", "thinking: too long"):
        assert disowned(signed, rejected(words)) is None
    assert disowned(request(said()), rejected(REJECTIONS[0])) is None
    assert disowned(CompletionRequest(model="v/m", prompt="x"), rejected(REJECTIONS[0])) is None


# What each vendor gets of another one's signatures.

CLAUDES = said(thinking_blocks=[BLOCK], tool_calls=[{**CALL, "extra_content": None}])
GOOGLES = said(tool_calls=[CALL])

#: Entry -> a model, and the names of what it does not get of Claude's and of Gemini's messages.
DROPPED = {
    "anthropic": ("claude-opus-4-8", (), ("extra_content", "reasoning_effort")),
    "bedrock": ("anthropic.claude-opus-4-6-v1", (), ("extra_content", "reasoning_effort")),
    "cohere": ("command-a-reasoning-08-2025", ("thinking_blocks",), ("extra_content",)),
    "gemini": ("gemini-3-pro-preview", ("thinking_blocks",), ()),
    "groq": ("llama-3.3-70b-versatile", ("thinking_blocks",), ("extra_content",)),
    "mistral": ("magistral-medium-latest", ("thinking_blocks",), ("extra_content",)),
    "openai": ("gpt-5", ("thinking_blocks",), ("extra_content",)),
    "vertex_ai": ("gemini-3-pro-preview", ("thinking_blocks",), ("extra_content",)),
}


@pytest.mark.parametrize("name", DROPPED)
def test_what_is_left_out_is_named(name: str) -> None:
    model, claudes, googles = DROPPED[name]
    row = ChatRow(name, ENV)
    fields: dict[str, Any] = {"tools": TOOLS, "max_tokens": 60_000}
    fields |= {} if name in ("groq", "openai") else {"reasoning_effort": "high"}
    for message, issuer, dropped in ((CLAUDES, "claude", claudes), (GOOGLES, "gemini", googles)):
        encoded = row.encoded(model, [USER, {**message, **mark(issuer)}, RESULT], **fields)
        assert sorted(encoded.dropped) == sorted(dropped)
        assert b"tollgate" not in encoded.body


@pytest.mark.parametrize("model", ["gemini-3-pro-preview", "gemini-2.5-flash"])
def test_a_call_that_another_api_of_googles_has_signed_gets_the_documented_value(
    model: str,
) -> None:
    body = ChatRow("vertex_ai", ENV).sent(
        model, [USER, {**GOOGLES, **mark("gemini")}, RESULT], tools=TOOLS
    )
    (call,) = [part for part in body["contents"][1]["parts"] if "functionCall" in part]
    expected = "skip_thought_signature_validator" if "3-pro" in model else None
    assert call.get("thoughtSignature") == expected
