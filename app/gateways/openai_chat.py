"""OpenAI's chat-completions wire, asked for a text completion: the prompt is a user's message.

Source: OpenAI's CreateChatCompletionRequest and its responses; docs/vendors.md.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

from marshmallow.fields import Field

from app.completion import Choice, Completion, CompletionRequest
from app.errors import GatewayError
from app.gateways import failures
from app.gateways.answers import failed, load
from app.gateways.base import Vendor, VendorRequest, plain_mapping, single_prompt
from app.gateways.finish import narrow
from app.gateways.logprobs import LogprobsReader, chat_tokens
from app.gateways.model_rules import MODELS, rules_of
from app.gateways.openai import posted
from app.gateways.openai_answer import OpenAIStreamDecoder, complete, decode_object, index_of
from app.gateways.parameters import supported
from app.sse import ServerSentEvent


class OpenAIChatGateway:
    """A text completion through chat: one prompt a call, its answer's text alone."""

    refuses: ClassVar[frozenset[str]] = frozenset({"best_of", "suffix"})
    list_prompts: ClassVar[bool] = False
    max_n: ClassVar[int] = 128
    quirks: ClassVar[Mapping[str, Field[Any]]] = {"models": MODELS}

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the vendor's request: what the caller set, by the vendor's names."""
        rules = rules_of(vendor, request.model_name)
        parameters, dropped = supported(vendor, request, self.refuses | rules.refuses)
        body = {
            "model": request.model_name,
            "messages": [{"role": "user", "content": single_prompt(request)}],
            **rules.body(_chat_logprobs(parameters)),
            **request.extra,
        }
        return posted(vendor, request, "/chat/completions", body, dropped)

    def decode(self, vendor: Vendor, request: CompletionRequest, body: bytes) -> Completion:
        """Return the whole answer, its choices in index order and each with a finish reason."""
        reader = ChoiceReader(request, "message")
        return complete(vendor, decode_object(vendor, request, load(vendor, body), reader.read))

    def stream_decoder(self, vendor: Vendor, request: CompletionRequest) -> "ChatStreamDecoder":
        """Return the decoder for one streamed answer."""
        return ChatStreamDecoder(vendor, request, ChoiceReader(request, "delta"))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return what the vendor's refusal means to the caller; `param` by its public name."""
        error = failures.from_response(vendor, status, headers, body)
        error.param = public_name(vendor, error.param)
        return error


def _chat_logprobs(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with `logprobs` as chat has it: a flag, and how many alternatives."""
    chat = dict(parameters)
    alternatives = chat.pop("logprobs", None)
    if alternatives is not None:
        chat["logprobs"] = True
        if alternatives:  # 0 asks for the sampled token alone
            chat["top_logprobs"] = alternatives
    return chat


def public_name(vendor: Vendor, param: str | None) -> str | None:
    """Return the caller's name for what a vendor's error calls `param`, as in `messages[0]`."""
    if param is None:
        return None
    names = {"messages": "prompt", "top_logprobs": "logprobs"}
    for rules in vendor.quirks.get("models", {}).values():
        names |= {theirs: ours for ours, theirs in rules.get("renames", {}).items()}
    return names.get(re.split(r"[.\[]", param, maxsplit=1)[0], param)


class ChoiceReader:
    """Reads the choices of one answer; `key` is where they keep what was said.

    What a model thinks, and its calls of tools, are no text; `is_alive` says whether the choices
    read since it was last set held any such thing.
    """

    def __init__(self, request: CompletionRequest, key: Literal["message", "delta"]) -> None:
        self._wants_logprobs = request.logprobs is not None
        self._key = key
        self._refused: set[int] = set()
        self._logprobs = LogprobsReader()
        self.is_alive = False

    def read(self, vendor: Vendor, position: int, choice: Mapping[str, Any]) -> Choice:
        """Return a choice in our vocabulary.

        Raises: VendorFailed.
        """
        said, index = self._said(vendor, choice), index_of(choice, position)
        text = _text(vendor, said.get("content"))
        if any(said.get(name) for name in said if name != "role"):
            self.is_alive = True
        if said.get("refusal"):
            self._refused.add(index)
        finish = narrow(vendor, choice.get("finish_reason"))
        if finish == "stop" and index in self._refused:
            finish = "content_filter"
        return Choice(index, text, finish, self._told(index, choice.get("logprobs")))

    def _said(self, vendor: Vendor, choice: Mapping[str, Any]) -> Mapping[str, Any]:
        said = choice.get(self._key)
        if isinstance(said, dict):
            return said
        elsewhere = "text" in choice or "message" in choice or self._key == "message"
        if said is not None or elsewhere:  # "" would pass for the vendor's answer
            raise failed(vendor, "sent a choice without a message")
        return {}  # a verdict of a filter, or a finish reason alone

    def _told(self, index: int, logprobs: Any) -> dict[str, Any] | None:
        entries = plain_mapping(logprobs).get("content")
        if not self._wants_logprobs or not isinstance(entries, list) or not entries:
            return None
        return self._logprobs.read(index, chat_tokens(entries))


def _text(vendor: Vendor, content: Any) -> str:
    """Return the text of a message's content: a text, its parts, or none at all."""
    if isinstance(content, str | None):
        return content or ""
    if not isinstance(content, list):
        raise failed(vendor, "sent a message that is no text")
    parts = [part for part in content if isinstance(part, dict) and part.get("type") == "text"]
    return "".join(part["text"] for part in parts if isinstance(part.get("text"), str))


class ChatStreamDecoder(OpenAIStreamDecoder):
    """One streamed answer; pieces that say nothing (a role, a thought) are not passed on."""

    text_key = b'"content":'

    def __init__(self, vendor: Vendor, request: CompletionRequest, reader: ChoiceReader) -> None:
        super().__init__(vendor, request, reader.read)
        self._reader = reader

    def _decode(self, event: ServerSentEvent) -> Iterable[Completion]:
        self._reader.is_alive = False
        for chunk in super()._decode(event):
            told = tuple(c for c in chunk.choices if c.text or c.finish_reason or c.logprobs)
            # A chunk without choices is not for the caller, but shows that the vendor is at work.
            if told or chunk.usage or self._reader.is_alive:
                yield replace(chunk, choices=told)
