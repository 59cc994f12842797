"""Cohere's messages and events as chunks; `message-end` is the end mark, `[DONE]` may follow.

The plan before calls is text of the answer, and thinking its reasoning. Citations stay Cohere's
own: `citations` of the message, each once.
"""

from collections.abc import Mapping
from typing import Any

from app.gateways.cohere.errors import failure
from app.gateways.cohere.usage import decode_usage
from app.gateways.decoding import failures
from app.gateways.decoding.choices.slots import UNNUMBERED
from app.gateways.decoding.finish import narrow
from app.gateways.decoding.parsing import failed, plain_mapping, whole
from app.gateways.decoding.typed_events import TypedEvents, joined_text, name_or, text_of
from app.vocabulary.chat.reply import Reply
from app.vocabulary.chat.tools import ToolCall
from app.vocabulary.completion import Choice, Completion, Usage
from app.vocabulary.errors import GatewayError


class CohereDecoder(TypedEvents):
    """Decodes one response to a chat request."""

    def read_whole(self, payload: Any) -> Completion:
        answer = plain_mapping(payload)
        message = answer.get("message")
        if not isinstance(message, dict):  # an error has a text there
            raise self.failure(failures.detail_of(answer))
        self._id = name_or(answer.get("id"))
        content = message.get("content") or []
        text = name_or(message.get("tool_plan")) + joined_text(self.vendor, content)
        calls = message.get("tool_calls")
        reply = _reply(
            _thoughts(content),
            [self._call(at, call) for at, call in enumerate(_objects(calls))],
            _objects(message.get("citations")),
        )
        reason, native = narrow(self.vendor, answer.get("finish_reason"))
        chunk = self._chunk(usage=self.usage(answer))
        return chunk._replace(choices=(Choice(0, text, reason, None, native, None, reply),))

    def usage(self, payload: Any) -> Usage | None:
        body = plain_mapping(payload)
        return decode_usage(body.get("usage") or plain_mapping(body.get("delta")).get("usage"))

    def failure(self, detail: failures.Detail) -> GatewayError:
        return failure(self.vendor, None, detail)

    def _event(self, kind: str, event: Mapping[str, Any]) -> Completion | None:
        delta = plain_mapping(event.get("delta"))
        message = plain_mapping(delta.get("message"))
        match kind:
            case "message-start":
                self._id = name_or(event.get("id"))
            case "content-start" | "content-delta":
                return self._content(plain_mapping(message.get("content")))
            case "tool-plan-delta":
                return self._chunk(name_or(message.get("tool_plan")))
            case "tool-call-start" | "tool-call-delta":
                index = whole(event.get("index"))
                number = UNNUMBERED if index is None else index
                call = self._call(number, plain_mapping(message.get("tool_calls")))
                return self._of(_reply(calls=[call]))
            case "citation-start":
                return self._of(_reply(citations=_objects(message.get("citations"))))
            case "message-end":
                return self._end(event, delta)
        return None

    def _content(self, content: Mapping[str, Any]) -> Completion:
        """Return a piece of text or thinking; its event has the other as null, or not at all."""
        if content.get("text") is not None:
            return self._chunk(text_of(self.vendor, content))
        return self._of(_reply(_thoughts([{"type": "thinking", **content}])))

    def _call(self, index: int, call: Mapping[str, Any]) -> ToolCall:
        function = plain_mapping(call.get("function"))
        name, arguments = function.get("name"), function.get("arguments") or ""
        if not isinstance(arguments, str):
            raise failed(self.vendor, "sent a tool call whose arguments are no text")
        return ToolCall(index, name_or(call.get("id")) or None, name_or(name) or None, arguments)

    def _of(self, reply: Reply | None) -> Completion:
        """Return a chunk without text; without a reply, it is a sign of life."""
        chunk = self._chunk()
        return chunk._replace(choices=(Choice(0, "", reply=reply),)) if reply else chunk

    def _end(self, event: Mapping[str, Any], delta: Mapping[str, Any]) -> Completion:
        if delta.get("error"):
            raise self.failure(failures.detail_of(delta))
        self.is_over = True
        reason, native = narrow(self.vendor, delta.get("finish_reason"))
        end = self._chunk(usage=self.usage(event))
        return end._replace(choices=(Choice(0, "", reason or "stop", None, native),))


def _reply(
    thoughts: str = "",
    calls: list[ToolCall] | None = None,
    citations: list[Mapping[str, Any]] | None = None,
) -> Reply | None:
    """Return what an answer holds beside its text; None if nothing."""
    if not (thoughts or calls or citations):
        return None
    extra = {"citations": citations} if citations else None
    return Reply(thoughts, "", tuple(calls or ()), extra)


def _thoughts(content: Any) -> str:
    blocks = _objects(content)
    texts = [block.get("thinking") for block in blocks if block.get("type") == "thinking"]
    return "".join(text for text in texts if isinstance(text, str))


def _objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list, or the one object, that an event has instead of a list."""
    listed = value if isinstance(value, list) else [value]
    return [item for item in listed if isinstance(item, dict) and item]
