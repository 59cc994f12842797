"""Mistral's chat: types of its own, thoughts as a list of chunks, calls whole.

Source: the types of Mistral's Python SDK (3.7), and the errors that its clients report.
"""

import re
from collections.abc import Iterator
from typing import Any

from mistralai.client import models

from tests.support.vendor import Asked, Reply
from tests.support.vendors.base import Kind
from tests.support.vendors.chat.openai_like import Body, OpenAIChat
from tests.support.vendors.chat.openai_rules import parts_of
from tests.support.vendors.chat.script import Answer, Call, Text, Thought, signature
from tests.support.vendors.mistral import MISTRAL_ERRORS, invalid
from tests.support.vendors.openai_chat import refused


class MistralChat(OpenAIChat):
    """Mistral: an endpoint whose model checks ids, order and signatures."""

    def invalid(self, words: str) -> Reply:
        """Return Mistral's refusal."""
        return invalid(words.partition(":")[0], "extra_forbidden", words)

    def message(self, said: Answer, index: int) -> Body:
        """Return the message; its content is a list only where it has thoughts."""
        message = super().message(said, index)
        if said.thoughts:
            texts = [{"type": "text", "text": said.text}] if said.text else []
            message["content"] = [*(_chunk(one) for one in said.thoughts), *texts]
        return message

    def deltas(self, said: Answer) -> Iterator[Body]:
        """Yield the pieces: thoughts in lists, text as such, a call whole."""
        calls = 0
        for block in said.blocks:
            if isinstance(block, Call):
                yield {"tool_calls": [{**self.call(calls, block, 0), "index": calls}]}
                calls += 1
            elif isinstance(block, Text):
                yield from ({"content": piece} for piece in block.pieces())
            else:
                yield from _pieces(block)

    def refuse(self, _: Asked, kind: Kind, retry_after: str | None = None) -> Reply:
        """Return Mistral's error of this kind."""
        return refused(MISTRAL_ERRORS, kind, retry_after)


def _chunk(thought: Thought) -> Body:
    said = [{"type": "text", "text": thought.text}]
    return {
        "type": "thinking",
        "thinking": said,
        "signature": signature(thought.text, by="mistral"),
    }


def _pieces(thought: Thought) -> Iterator[Body]:
    for piece in Text(thought.text).pieces():
        chunk = {"type": "thinking", "thinking": [{"type": "text", "text": piece}]}
        yield {"content": [chunk]}
    signed = {
        "type": "thinking",
        "thinking": [],
        "signature": signature(thought.text, by="mistral"),
    }
    yield {"content": [{**signed, "closed": True}]}


def _rules(body: Body) -> Iterator[str]:
    messages = body["messages"]
    for before, message in zip([None, *messages], messages, strict=False):
        if message["role"] == "user" and before and before["role"] == "tool":
            yield "messages: Unexpected role 'user' after role 'tool'"
        if message["role"] == "assistant" and not (
            message.get("content") or message.get("tool_calls")
        ):
            yield "messages: Assistant message must have either content or tool_calls, but not none"
        if "tool_call_id" in message:
            yield from _of_id(message["tool_call_id"])
        for call in message.get("tool_calls") or []:
            yield from _of_id(call["id"])
        for part in parts_of(message):
            yield from _of_part(part)
    last = messages[-1]
    if last["role"] not in ("user", "tool") and not last.get("prefix"):
        yield "messages: Expected last role User or Tool (or Assistant with prefix True)"


def _of_id(call_id: str) -> Iterator[str]:
    if not re.fullmatch("[a-zA-Z0-9]{9}", call_id):
        yield (
            f"messages: Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
        )


def _of_part(part: Any) -> Iterator[str]:
    if part["type"] == "thinking":
        text = "".join(chunk["text"] for chunk in part["thinking"])
        if part.get("signature") not in (None, signature(text, by="mistral")):  # need not have one
            yield "messages: the signature of a thinking chunk is not valid"


MISTRAL = MistralChat(
    model="magistral-medium-latest",
    types=models.ChatCompletionRequest,
    added=frozenset({"index"}),
    rules=[_rules],
    numbered="zero",
    usage="last",
)
