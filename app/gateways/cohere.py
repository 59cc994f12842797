"""Cohere's v2 chat wire: a prompt is one user's message.

Source: docs.cohere.com (chat, errors), and the types of its Python client.
"""

import time
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from marshmallow.fields import Field

from app import wire
from app.completion import Choice, Completion, CompletionRequest, Usage
from app.errors import GatewayError
from app.gateways import failures
from app.gateways.answers import failed, load, whole
from app.gateways.base import (
    Vendor,
    VendorRequest,
    authorization,
    plain_mapping,
    single_prompt,
)
from app.gateways.finish import narrow
from app.gateways.parameters import check_extra, check_prompt, check_range, supported
from app.gateways.stops import as_list
from app.gateways.typed_events import TypedEventDecoder, joined_text, text_of, word

#: Our parameter -> the vendor's.
NAMES: Mapping[str, str] = {
    "frequency_penalty": "frequency_penalty",
    "max_tokens": "max_tokens",
    "presence_penalty": "presence_penalty",
    "seed": "seed",
    "temperature": "temperature",
    "top_p": "p",
}

PENALTIES = ("frequency_penalty", "presence_penalty")

#: What Cohere's own statuses are in the words that everyone else uses: 498 is an invalid token.
STATUSES: Mapping[int, int] = {498: 401}


class CohereGateway:
    """Chat with Command, one prompt and one sample a call.

    `logprobs` are refused: the wire has token ids for them, not each token's text, and gives no
    alternatives. `user` is refused: the wire has no word for it.
    """

    refuses: ClassVar[frozenset[str]] = frozenset(
        {"best_of", "logit_bias", "logprobs", "suffix", "user"}
    )
    list_prompts: ClassVar[bool] = False
    max_n: ClassVar[int] = 1
    quirks: ClassVar[Mapping[str, Field[Any]]] = {}

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the vendor's request: what the caller set, and nothing that it did not."""
        check_prompt(vendor, request)
        check_extra(vendor, request)
        parameters, dropped = supported(vendor, request, self.refuses)
        _check_ranges(vendor, request)
        for name in PENALTIES:  # 0 is the vendor's default, and some models refuse both at once
            if not parameters.get(name):
                parameters.pop(name, None)
        body: dict[str, Any] = {
            "model": request.model_name,
            "messages": [{"role": "user", "content": single_prompt(request)}],
            **{word: parameters[name] for name, word in NAMES.items() if name in parameters},
        }
        if stops := as_list(request.stop):
            body["stop_sequences"] = stops
        if request.stream:
            body["stream"] = True
        headers = {
            "content-type": "application/json",
            **authorization(vendor),
            **vendor.headers,
        }
        return VendorRequest(f"{vendor.base_url}/chat", headers, wire.dump(body), dropped)

    def decode(self, vendor: Vendor, request: CompletionRequest, body: bytes) -> Completion:
        """Return the whole answer, which does not say which model gave it."""
        answer = plain_mapping(load(vendor, body))
        message = answer.get("message")
        if not isinstance(message, dict):  # where an error has its sentence
            raise failures.failure(vendor, None, failures.detail(answer))
        reason = narrow(vendor, answer.get("finish_reason"))
        if reason is None:
            raise failed(vendor, "sent an answer that is not complete")
        text = joined_text(vendor, message.get("content") or [])
        return Completion(
            id=word(answer.get("id")),
            created=int(time.time()),
            model=request.model_name,
            choices=(Choice(0, text, reason),),
            usage=decode_usage(answer.get("usage")),
        )

    def stream_decoder(self, vendor: Vendor, request: CompletionRequest) -> "CohereStreamDecoder":
        """Return the decoder for one streamed answer."""
        return CohereStreamDecoder(vendor, request)

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return what the vendor's refusal means to the caller."""
        return failures.from_response(vendor, STATUSES.get(status, status), headers, body)


class CohereStreamDecoder(TypedEventDecoder):
    """One streamed answer, whole when `message-end` gives a reason; `[DONE]` may follow."""

    def _read(self, kind: str, event: Mapping[str, Any]) -> Iterator[Completion]:
        delta = plain_mapping(event.get("delta"))
        match kind:
            case "message-start":
                self._id = word(event.get("id"))
            case "content-start" | "content-delta":
                content = plain_mapping(plain_mapping(delta.get("message")).get("content"))
                # A piece of thinking has no text, or none but null; the vendor is at work.
                has_text = content.get("text") is not None
                yield self._chunk(text_of(self._vendor, content) if has_text else "")
            case "message-end":
                yield self._end(delta)

    def _end(self, delta: Mapping[str, Any]) -> Completion:
        if delta.get("error"):
            raise failures.failure(self._vendor, None, failures.detail(delta))
        reason = narrow(self._vendor, delta.get("finish_reason"))
        if reason is None:
            raise failed(self._vendor, "ended the answer without a reason")
        self._whole = True
        return self._chunk("", reason, decode_usage(delta.get("usage")))


def decode_usage(usage: Any) -> Usage | None:
    """Return what the vendor bills, or what its model saw where it says no more; None for neither.

    The model also sees the vendor's own instructions, which it does not bill and which may be
    cached: cached tokens count as far as they are billed.
    """
    told = plain_mapping(usage)
    prompt, generated = _pair(told.get("billed_units")) or _pair(told.get("tokens")) or (0, 0)
    return (
        Usage(
            prompt_tokens=prompt,
            completion_tokens=generated,
            total_tokens=prompt + generated,
            cached_tokens=min(whole(told.get("cached_tokens")) or 0, prompt),
        )
        or None
    )


def _pair(counts: Any) -> tuple[int, int] | None:
    """Return input and output tokens; None where one is no count, or both are 0."""
    told = plain_mapping(counts)
    prompt, generated = (whole(told.get(n) or 0) for n in ("input_tokens", "output_tokens"))
    if prompt is None or generated is None or not (prompt or generated):
        return None
    return prompt, generated


def _check_ranges(vendor: Vendor, request: CompletionRequest) -> None:
    for name in PENALTIES:
        check_range(vendor, request, name, 0, 1)
    check_range(vendor, request, "top_p", 0.01, 0.99)
