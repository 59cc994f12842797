"""Cohere's v2 chat wire: a prompt is one user's message.

Source: docs.cohere.com (chat, errors), and the types of its Python client.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from marshmallow.fields import Field

from app.formats import strict_json
from app.gateways.base import plain_mapping, single_prompt
from app.gateways.decoding import failures
from app.gateways.decoding.counts import put_together
from app.gateways.decoding.finish import narrow
from app.gateways.decoding.parsing import whole
from app.gateways.decoding.reader import AnswerReader
from app.gateways.decoding.typed_events import TypedEvents, joined_text, text_of, word
from app.gateways.parameters import check_extra, check_prompt, check_range, supported
from app.gateways.stops import as_list
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest

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

    unsupported: ClassVar[frozenset[str]] = frozenset(
        {"best_of", "logit_bias", "logprobs", "suffix", "user"}
    )
    list_prompts: ClassVar[bool] = False
    max_n: ClassVar[int] = 1
    quirks: ClassVar[Mapping[str, Field[Any]]] = {}

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the vendor's request: what the caller set, and nothing that it did not."""
        check_prompt(vendor, request)
        check_extra(vendor, request)
        parameters, dropped = supported(vendor, request, self.unsupported)
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
            **vendor.headers,
        }
        return VendorRequest(f"{vendor.base_url}/chat", headers, strict_json.dump(body), dropped)

    def reader(self, vendor: Vendor, request: CompletionRequest) -> AnswerReader:
        """Return the reader of one answer."""
        return AnswerReader(CohereWire(vendor, request))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return what the vendor's refusal means to the caller."""
        return failures.from_response(vendor, STATUSES.get(status, status), headers, body)


class CohereWire(TypedEvents):
    """What Cohere's answers and events mean; `message-end` is the end, and `[DONE]` may follow."""

    def read_whole(self, payload: Any) -> Completion:
        """Return a whole answer, which does not say which model gave it."""
        answer = plain_mapping(payload)
        message = answer.get("message")
        if not isinstance(message, dict):  # where an error has its sentence
            raise failures.failure(self.vendor, None, failures.detail(answer))
        self._id = word(answer.get("id"))
        text = joined_text(self.vendor, message.get("content") or [])
        reason, native = narrow(self.vendor, answer.get("finish_reason"))
        chunk = self._chunk(usage=self.usage(answer))
        return replace(chunk, choices=(Choice(0, text, reason, None, native),))

    def usage(self, payload: Any) -> Usage | None:
        """Return the count of an answer or of an event."""
        told = plain_mapping(payload)
        return decode_usage(told.get("usage") or plain_mapping(told.get("delta")).get("usage"))

    def _event(self, kind: str, event: Mapping[str, Any]) -> Completion | None:
        delta = plain_mapping(event.get("delta"))
        match kind:
            case "message-start":
                self._id = word(event.get("id"))
            case "content-start" | "content-delta":
                content = plain_mapping(plain_mapping(delta.get("message")).get("content"))
                # A piece of thinking has no text, or none but null; the vendor is at work.
                has_text = content.get("text") is not None
                return self._chunk(text_of(self.vendor, content) if has_text else "")
            case "message-end":
                return self._end(event, delta)
        return None

    def _end(self, event: Mapping[str, Any], delta: Mapping[str, Any]) -> Completion:
        if delta.get("error"):
            raise failures.failure(self.vendor, None, failures.detail(delta))
        self.is_over = True
        reason, native = narrow(self.vendor, delta.get("finish_reason"))
        end = self._chunk(usage=self.usage(event))
        return replace(end, choices=(Choice(0, "", reason or "stop", None, native),))


def decode_usage(usage: Any) -> Usage | None:
    """Return what the vendor bills, or what its model saw where it says no more; None for neither.

    The model also sees the vendor's own instructions, which it does not bill and which may be
    cached: cached tokens count as far as they are billed.
    """
    told = plain_mapping(usage)
    parts = {"cached_tokens": whole(told.get("cached_tokens")) or 0}
    counts = _pair(told.get("billed_units")) or _pair(told.get("tokens"))
    return counts and put_together("cohere", *counts, None, parts)


def _pair(counts: Any) -> tuple[int | None, int | None] | None:
    """Return input and output tokens, each None where it is no count; None for neither, or 0s."""
    told = plain_mapping(counts)
    prompt, generated = (whole(told.get(n)) for n in ("input_tokens", "output_tokens"))
    return (prompt, generated) if prompt or generated else None


def _check_ranges(vendor: Vendor, request: CompletionRequest) -> None:
    for name in PENALTIES:
        check_range(vendor, request, name, 0, 1)
    check_range(vendor, request, "top_p", 0.01, 0.99)
