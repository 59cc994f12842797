"""Completes texts through chat: a prompt becomes one user message, a reply's text the completion.

The only place where the two meet: requests, streams, usage and errors are the chat gateway's own.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from app.gateways.base import ChatGateway, single_prompt
from app.gateways.decoding import failures
from app.gateways.decoding.chunk_template import ChunkTemplate
from app.gateways.decoding.decoder import Decoder
from app.gateways.decoding.logprobs import LogprobsReader, chat_tokens
from app.gateways.decoding.reader import ResponseReader
from app.gateways.parameters import supported
from app.vendors.model_rules import rules_of
from app.vendors.vendor import Vendor
from app.vocabulary.chat.message import Message
from app.vocabulary.chat.parts import TextPart
from app.vocabulary.chat.request import ChatRequest
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError, InvalidRequest, UnsupportedParameter
from app.vocabulary.errors.several import renamed
from app.vocabulary.vendor_request import VendorRequest

#: Parameters that chat has no word for.
UNSUPPORTED = frozenset({"best_of", "suffix"})
_NOT_IN_CHAT = UNSUPPORTED | {"echo"}

#: Fields of chat -> the caller's name for them.
PUBLIC_NAMES: Mapping[str, str] = {
    "max_completion_tokens": "max_tokens",
    "messages": "prompt",
    "top_logprobs": "logprobs",
}


class Bridge:
    """A gateway for text completions: one prompt per call, through a chat gateway."""

    list_prompts = False

    def __init__(self, chat: ChatGateway) -> None:
        self._chat = chat
        self.unsupported = chat.unsupported | UNSUPPORTED
        self.max_n = chat.max_n
        self.quirks = chat.quirks

    def prepared(
        self, vendor: Vendor, request: CompletionRequest
    ) -> tuple[CompletionRequest, tuple[str, ...]]:
        """Return the request as it can be converted, and the parameters dropped from it.

        The caller of this method repeats the prompt if it asked for an `echo`; `logprobs` of the
        prompt do not exist in chat.
        Raises: UnsupportedParameter for token ids; for `logprobs` with `echo`, unless the vendor
        entry sets `drop_unsupported`.
        """
        name = f"`{vendor.name}/{request.model_name}`"
        if not all(isinstance(prompt, str) for prompt in request.prompts):
            raise UnsupportedParameter(
                f"{name} accepts only text as `prompt`, not token ids.", param="prompt"
            )
        if not request.echo or request.logprobs is None:
            return (request if request.echo is None else replace(request, echo=None)), ()
        if not vendor.drop_unsupported:
            raise UnsupportedParameter(
                f"{name} does not support `logprobs` with `echo`: it has none for the prompt. "
                "Leave one of them out.",
                param="logprobs",
            )
        return replace(request, echo=None, logprobs=None), ("logprobs",)

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        parameters, dropped = supported(vendor, request, UNSUPPORTED)
        try:
            encoded = self._chat.encode(vendor, _with_prompt(vendor, request, parameters))
        except InvalidRequest as error:
            raise renamed(error, public_name) from error
        names = {public_name(name) for name in (*dropped, *encoded.dropped)}
        if not names:
            return encoded
        return replace(encoded, dropped=tuple(sorted(names)))

    def reader(self, vendor: Vendor, request: CompletionRequest) -> ResponseReader:
        asked = _chat_request(vendor, request, request.parameters())  # without the prompt
        decoder = TextDecoder(self._chat.decoder(vendor, asked), vendor, request)
        return ResponseReader(decoder, self._chat.framing(vendor))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return the error of a response without success; `param` is the caller's name for it."""
        error = self._chat.decode_error(vendor, status, headers, body)
        error.param = public_name(error.param) if error.param else error.param
        return error


def public_name(name: str) -> str:
    """Return the caller's name for a field of chat, e.g. for `messages[0].content`."""
    return PUBLIC_NAMES.get(re.split(r"[.\[]", name, maxsplit=1)[0], name)


def _chat_request(
    vendor: Vendor,
    request: CompletionRequest,
    parameters: Mapping[str, Any],
    messages: tuple[Message, ...] = (),
    extra: Mapping[str, Any] | None = None,
) -> ChatRequest:
    """Return the request for a reply; a decoder needs it without a message."""
    options = _options(vendor, parameters)
    return ChatRequest(
        model=request.model,
        messages=messages,
        options=options,
        extra=extra or {},
        # What a vendor gets without a limit is more in chat: the model's maximum.
        max_tokens=options.get("max_tokens", vendor.quirks.get("default_max_tokens")),
        n=options.get("n"),
        seed=options.get("seed"),
        stop=options.get("stop"),
        user=options.get("user"),
        stream=request.stream,
        stream_options=request.stream_options,
    )


def _options(vendor: Vendor, parameters: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: it for name, it in parameters.items() if name not in _NOT_IN_CHAT}
    alternatives = options.pop("logprobs", None)
    if alternatives is not None:
        options["logprobs"] = True
        # 0 requests only the sampled token.
        if wanted := max(alternatives, vendor.quirks.get("least_logprobs", 0)):
            options["top_logprobs"] = wanted
    return options


def _with_prompt(
    vendor: Vendor, request: CompletionRequest, parameters: Mapping[str, Any]
) -> ChatRequest:
    """Return the request with the prompt as the only message."""
    source = {"role": "user", "content": single_prompt(request)}
    part = TextPart(text=source["content"], source=source, path="messages[0].content")
    messages = (Message(role="user", path="messages[0]", source=source, parts=(part,)),)
    sends = rules_of(vendor, request.model_name).bridge_sends
    extra = {**sends, **request.extra} if sends else request.extra
    return _chat_request(vendor, request, parameters, messages, extra)


class TextDecoder(Decoder):
    """Decodes chat responses into texts: of a reply, only the text is left."""

    def __init__(self, chat: Decoder, vendor: Vendor, request: CompletionRequest) -> None:
        super().__init__(vendor, request)
        self.counts_choices = chat.counts_choices
        self._chat = chat
        self._wants_logprobs = request.logprobs is not None
        self._alone = request.logprobs == 0
        self._logprobs = LogprobsReader()
        self._refused: set[int] = set()

    def read(self, payload: Any) -> Completion | None:
        try:
            chunk = self._chat.read(payload)
        finally:
            self._follow()
        if chunk is None or all(map(_is_text, chunk.choices)):
            return chunk if chunk is None else _without_extra(chunk)
        texts = [self._text(choice) for choice in chunk.choices]
        kept = tuple([choice for choice in texts if not _is_empty(choice)])
        return chunk._replace(choices=kept, extra=None)

    def read_whole(self, payload: Any) -> Completion:
        try:
            completion = self._chat.read_whole(payload)
        finally:
            self._follow()
        if any(it.reply is not None or it.logprobs is not None for it in completion.choices):
            choices = tuple([self._text(choice) for choice in completion.choices])
            return completion._replace(choices=choices, extra=None)
        return _without_extra(completion)

    def usage(self, payload: Any) -> Usage | None:
        return self._chat.usage(payload)

    def reported(self, data: bytes) -> GatewayError:
        return self._chat.reported(data)

    def failure(self, detail: failures.Detail) -> GatewayError:
        return self._chat.failure(detail)

    def unwrap(self, name: str | None, value: Any) -> Iterable[Any]:
        payloads = self._chat.unwrap(name, value)
        self._follow()
        return payloads

    def template(self) -> ChunkTemplate | None:
        return self._chat.template()

    def _follow(self) -> None:
        self.is_over, self.is_alive = self._chat.is_over, self._chat.is_alive

    def _text(self, choice: Choice) -> Choice:
        """Return a choice with its text alone; a refusal ends it like a filter."""
        reason = choice.finish_reason
        if choice.reply is not None and choice.reply.refusal:
            self._refused.add(choice.index)
        if reason == "stop" and choice.index in self._refused:
            reason = "content_filter"
        logprobs = self._text_logprobs(choice)
        return choice._replace(finish_reason=reason, logprobs=logprobs, reply=None)

    def _text_logprobs(self, choice: Choice) -> Mapping[str, Any] | None:
        """Return chat's log probabilities in the format of text completions."""
        entries = (choice.logprobs or {}).get("content")
        if not self._wants_logprobs or not isinstance(entries, list):
            return None
        tokens = list(chat_tokens(entries))
        if not tokens:
            return None
        if "".join(token.token for token in tokens) == choice.text:  # no token is an escape
            tokens = [replace(token, raw=None) for token in tokens]
        found = self._logprobs.read(choice.index, tokens)
        return {**found, "top_logprobs": None} if self._alone else found


def _without_extra(completion: Completion) -> Completion:
    return completion if completion.extra is None else completion._replace(extra=None)


def _is_text(choice: Choice) -> bool:
    """Whether there is nothing to convert: the usual delta."""
    return choice.reply is None and choice.finish_reason is None and choice.logprobs is None


def _is_empty(choice: Choice) -> bool:
    nothing = not choice.text and choice.finish_reason is None and choice.logprobs is None
    return nothing and not choice.extra
