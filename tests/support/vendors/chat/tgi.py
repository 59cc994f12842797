"""Text Generation Inference's chat: one call an answer, reasons of its own, refusals of lists.

Source: its router's code at db931fcf, as docs/vendors.md names it.
"""

from collections.abc import Iterator, Mapping

from tests.support.vendor import Reply, json_reply
from tests.support.vendors.chat.openai_like import Body, OpenAIChat
from tests.support.vendors.chat.openai_rules import parts_of
from tests.support.vendors.chat.script import Answer
from tests.support.vendors.self_hosted import TGI as COMPLETIONS

FORMATS = ("json_object", "json_schema", "regex")


class TGIChat(OpenAIChat):
    """TGI: an answer has one call, whose fragments each say all that is known of it."""

    def invalid(self, words: str) -> Reply:
        """Return TGI's refusal."""
        return json_reply({"error": words, "error_type": "validation"}, 422)

    def object(self, suffix: str) -> Body:
        """Return what is around the choices; there is no id."""
        return {**super().object(suffix), "id": "", "system_fingerprint": "3.3.5-native"}

    def message(self, said: Answer, index: int) -> Body:
        """Return the message; one with calls has no content."""
        message = super().message(said, index)
        if said.calls:
            del message["content"]
        return message


def rules(body: Body) -> Iterator[str]:
    """Yield what TGI refuses, and what it would ignore."""
    if not isinstance(body.get("stop", []), list):
        yield "stop: invalid type: string, expected a sequence"
    if {"max_tokens", "max_completion_tokens"} <= body.keys():
        yield "duplicate field `max_tokens`"
    for name in sorted({"n", "logit_bias"} & body.keys()):
        yield f"{name}: it would be ignored, and the caller not know"
    form = body.get("response_format")
    if form is not None and (form["type"] not in FORMATS or "value" not in form):
        yield "response_format: missing field `value`"
    if form is not None and body.get("tools"):
        yield "Grammar and tools are mutually exclusive"
    for tool in body.get("tools") or []:
        if "parameters" not in tool["function"]:
            yield "tools: missing field `parameters`"
    for message in body["messages"]:
        yield from _of_message(message)


def _of_message(message: Mapping[str, object]) -> Iterator[str]:
    if message.get("tool_calls") and message.get("content") is not None:
        yield "content: beside it, the calls would be lost"
    for part in parts_of(message):
        if part["type"] not in ("text", "image_url"):
            yield f"unknown variant `{part['type']}`, expected `text` or `image_url`"


TGI = TGIChat(
    model="tgi",
    headers={},
    types=None,
    rules=[rules],
    errors=COMPLETIONS.errors,
    repeats=True,
    numbered="zero",
    finishes={"stop": "eos_token", "tool_calls": "stop"},
)
