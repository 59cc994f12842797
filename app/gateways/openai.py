"""OpenAI's text-completions wire, which most vendors and self-hosted servers speak.

What one of them does differently is a key of its entry in the vendor table, not a branch here.
Source: OpenAI's CreateCompletionRequest and CreateCompletionResponse; docs/vendors.md.
"""

import time
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from marshmallow.fields import Field

from app import wire
from app.completion import Choice, Completion, CompletionRequest, Usage
from app.errors import GatewayError, VendorFailed
from app.gateways import failures
from app.gateways.base import Vendor, VendorRequest, authorization, plain_mapping
from app.gateways.finish import narrow
from app.gateways.parameters import check_prompt, supported
from app.sse import EventParser, EventTooLarge, ServerSentEvent

DONE = b"[DONE]"


class OpenAIGateway:
    """Native text completions: the request is forwarded, the answer brought into form."""

    refuses: ClassVar[frozenset[str]] = frozenset()
    list_prompts: ClassVar[bool] = True
    max_n: ClassVar[int] = 128
    quirks: ClassVar[Mapping[str, Field[Any]]] = {}

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the vendor's request: what the caller set, and nothing that it did not."""
        check_prompt(vendor, request)
        parameters, dropped = supported(vendor, request)
        body = {"model": request.model_name, "prompt": request.prompt, **parameters}
        body.update(request.extra)
        if request.stream:
            body["stream"] = True
            options = dict(request.stream_options or {})
            if vendor.asks_usage:
                options["include_usage"] = True
            if options:
                body["stream_options"] = options
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream" if request.stream else "application/json",
            **authorization(vendor),
            **vendor.headers,
        }
        return VendorRequest(f"{vendor.base_url}/completions", headers, wire.dump(body), dropped)

    def decode(self, vendor: Vendor, request: CompletionRequest, body: bytes) -> Completion:
        """Return the whole answer, its choices in index order and each with a finish reason."""
        completion = decode_object(vendor, request, _load(vendor, body))
        if not completion.choices or any(c.finish_reason is None for c in completion.choices):
            raise VendorFailed(
                f"The vendor `{vendor.name}` sent an answer that is not complete.", billable=True
            )
        return completion

    def stream_decoder(self, vendor: Vendor, request: CompletionRequest) -> "OpenAIStreamDecoder":
        """Return the decoder for one streamed answer."""
        return OpenAIStreamDecoder(vendor, request)

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return what the vendor's refusal means to the caller."""
        return failures.from_response(vendor, status, headers, body)


class OpenAIStreamDecoder:
    """One streamed answer: whole when every choice has ended, not when `[DONE]` says so.

    Reading goes on after a finish reason, since usage often follows it.
    """

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        self._vendor = vendor
        self._request = request
        self._parser = EventParser()
        self._open: set[int] = set()
        self._ended: set[int] = set()
        self._done = False

    def feed(self, packet: bytes) -> Iterable[Completion]:
        """Yield the chunks that `packet` completes."""
        try:
            for event in self._parser.feed(packet):
                yield from self._decode(event)
        except EventTooLarge as exc:
            raise self._broken("sent an event that is too large") from exc

    def close(self) -> Iterable[Completion]:
        """Yield what the end of the connection completes, if the answer is whole."""
        for event in self._parser.flush():
            yield from self._decode(event)
        prompt, n = self._request.prompt, self._request.n or 1
        several = not isinstance(prompt, str) and not isinstance(prompt[0], int)
        expected = n * (len(prompt) if several else 1)
        short = not self._done and len(self._ended) < expected
        if short or not self._ended or self._open - self._ended:
            raise self._broken("broke off before the answer was complete")

    def _decode(self, event: ServerSentEvent) -> Iterable[Completion]:
        text = event.data.strip()
        if not text or self._done:
            return
        if text == DONE:
            self._done = True
            return
        payload = _load(self._vendor, text)
        if event.name == "error" and failures.error_in(payload) is None:
            payload = {"error": payload or "unknown"}
        chunk = decode_object(self._vendor, self._request, payload)
        for choice in chunk.choices:
            self._open.add(choice.index)
            if choice.finish_reason is not None:
                self._ended.add(choice.index)
        if chunk.choices or chunk.usage is not None:
            yield chunk

    def _broken(self, what: str) -> VendorFailed:
        return VendorFailed(f"The vendor `{self._vendor.name}` {what}.", billable=True)


def _load(vendor: Vendor, text: bytes) -> Any:
    try:
        return wire.load_vendor(text)
    except ValueError as exc:
        raise VendorFailed(
            f"The vendor `{vendor.name}` sent something that is not JSON.", billable=True
        ) from exc


def decode_object(vendor: Vendor, request: CompletionRequest, payload: Any) -> Completion:
    """Return a `text_completion` object, whole or a chunk, in our vocabulary.

    Raises: GatewayError when it is an error in disguise, or no such object.
    """
    error = failures.error_in(payload)
    if error is not None:
        raise failures.failure(vendor, None, failures.detail(error))
    body = plain_mapping(payload)
    choices = body.get("choices", [])
    if not isinstance(choices, list) or ("choices" not in body and "usage" not in body):
        raise VendorFailed(f"The vendor `{vendor.name}` sent no completion object.", billable=True)
    decoded = [_choice(vendor, at, plain_mapping(choice)) for at, choice in enumerate(choices)]
    created, model, fingerprint = (body.get(k) for k in ("created", "model", "system_fingerprint"))
    return Completion(
        id=body["id"] if isinstance(body.get("id"), str) else "",
        created=created if type(created) is int and created else int(time.time()),
        model=model if isinstance(model, str) and model else request.model_name,
        choices=tuple(sorted(decoded, key=lambda choice: choice.index)),
        usage=decode_usage(body.get("usage")),
        system_fingerprint=fingerprint if isinstance(fingerprint, str) else None,
    )


def _choice(vendor: Vendor, position: int, choice: Mapping[str, Any]) -> Choice:
    index, text, logprobs = choice.get("index"), choice.get("text"), choice.get("logprobs")
    return Choice(
        index=index if type(index) is int and index >= 0 else position,
        text=text if isinstance(text, str) else "",
        finish_reason=narrow(vendor, choice.get("finish_reason")),
        logprobs=logprobs if isinstance(logprobs, dict) else None,
    )


#: Usage field -> where OpenAI's wire keeps it.
USAGE_PATHS: Mapping[str, tuple[str, ...]] = {
    "prompt_tokens": ("prompt_tokens",),
    "completion_tokens": ("completion_tokens",),
    "total_tokens": ("total_tokens",),
    "cached_tokens": ("prompt_tokens_details", "cached_tokens"),
    "cache_write_tokens": ("prompt_tokens_details", "cache_write_tokens"),
    "audio_prompt_tokens": ("prompt_tokens_details", "audio_tokens"),
    "reasoning_tokens": ("completion_tokens_details", "reasoning_tokens"),
    "audio_completion_tokens": ("completion_tokens_details", "audio_tokens"),
    "accepted_prediction_tokens": ("completion_tokens_details", "accepted_prediction_tokens"),
    "rejected_prediction_tokens": ("completion_tokens_details", "rejected_prediction_tokens"),
}


def decode_usage(usage: Any) -> Usage | None:
    """Return the vendor's count, or None when there is none: absent, null, or all zeros.

    A total that the vendor gives is kept, also where it is not the sum.
    """
    if not isinstance(usage, dict):
        return None
    counts = {name: _count(usage, path) for name, path in USAGE_PATHS.items()}
    if not counts["total_tokens"]:
        counts["total_tokens"] = counts["prompt_tokens"] + counts["completion_tokens"]
    return Usage(**counts) or None


def _count(usage: Mapping[str, Any], path: tuple[str, ...]) -> int:
    value: Any = usage
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return 0
    return int(value)
