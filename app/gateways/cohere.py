"""Cohere's v2 chat format: a prompt becomes one user's message.

Source: docs.cohere.com (chat, errors), and the types of its Python client.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from marshmallow.fields import Field

from app.formats import strict_json
from app.gateways.base import single_prompt
from app.gateways.decoding import failures
from app.gateways.decoding.counts import put_together
from app.gateways.decoding.finish import narrow
from app.gateways.decoding.parsing import plain_mapping, whole
from app.gateways.decoding.reader import ResponseReader
from app.gateways.decoding.typed_events import TypedEvents, joined_text, name_or, text_of
from app.gateways.parameters import check_extra, check_prompt, check_range, supported
from app.gateways.stops import as_list
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest

#: The caller's parameter -> the vendor's name for it.
NAMES: Mapping[str, str] = {
    "frequency_penalty": "frequency_penalty",
    "max_tokens": "max_tokens",
    "presence_penalty": "presence_penalty",
    "seed": "seed",
    "temperature": "temperature",
    "top_p": "p",
}

PENALTIES = ("frequency_penalty", "presence_penalty")

#: Cohere's own statuses -> the standard ones that they mean; 498 is an invalid token.
STATUSES: Mapping[int, int] = {498: 401}


class CohereGateway:
    """Chat with Command: one prompt and one sample per call.

    `logprobs` are unsupported: the format has token ids for them, instead of each token's text, and
    no alternatives. `user` has no equivalent.
    """

    unsupported: ClassVar[frozenset[str]] = frozenset(
        {"best_of", "logit_bias", "logprobs", "suffix", "user"}
    )
    list_prompts: ClassVar[bool] = False
    max_n: ClassVar[int] = 1
    quirks: ClassVar[Mapping[str, Field[Any]]] = {}

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        check_prompt(vendor, request)
        check_extra(vendor, request)
        parameters, dropped = supported(vendor, request, self.unsupported)
        _check_ranges(vendor, request)
        for name in PENALTIES:  # 0 is the vendor's default, and some models reject both together
            if not parameters.get(name):
                parameters.pop(name, None)
        body: dict[str, Any] = {
            "model": request.model_name,
            "messages": [{"role": "user", "content": single_prompt(request)}],
            **{theirs: parameters[name] for name, theirs in NAMES.items() if name in parameters},
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

    def reader(self, vendor: Vendor, request: CompletionRequest) -> ResponseReader:
        return ResponseReader(CohereDecoder(vendor, request))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        return failures.from_response(vendor, STATUSES.get(status, status), headers, body)


class CohereDecoder(TypedEvents):
    """Decodes responses and events; `message-end` is the end mark, and `[DONE]` may follow."""

    def read_whole(self, payload: Any) -> Completion:
        answer = plain_mapping(payload)
        message = answer.get("message")
        if not isinstance(message, dict):  # an error has a text there
            raise self.failure(failures.detail_of(answer))
        self._id = name_or(answer.get("id"))
        text = joined_text(self.vendor, message.get("content") or [])
        reason, native = narrow(self.vendor, answer.get("finish_reason"))
        chunk = self._chunk(usage=self.usage(answer))
        return replace(chunk, choices=(Choice(0, text, reason, None, native),))

    def usage(self, payload: Any) -> Usage | None:
        body = plain_mapping(payload)
        return decode_usage(body.get("usage") or plain_mapping(body.get("delta")).get("usage"))

    def _event(self, kind: str, event: Mapping[str, Any]) -> Completion | None:
        delta = plain_mapping(event.get("delta"))
        match kind:
            case "message-start":
                self._id = name_or(event.get("id"))
            case "content-start" | "content-delta":
                content = plain_mapping(plain_mapping(delta.get("message")).get("content"))
                # A delta of reasoning has no text, or null: a sign of life.
                has_text = content.get("text") is not None
                return self._chunk(text_of(self.vendor, content) if has_text else "")
            case "message-end":
                return self._end(event, delta)
        return None

    def _end(self, event: Mapping[str, Any], delta: Mapping[str, Any]) -> Completion:
        if delta.get("error"):
            raise self.failure(failures.detail_of(delta))
        self.is_over = True
        reason, native = narrow(self.vendor, delta.get("finish_reason"))
        end = self._chunk(usage=self.usage(event))
        return replace(end, choices=(Choice(0, "", reason or "stop", None, native),))


def decode_usage(usage: Any) -> Usage | None:
    """Return the billed tokens, otherwise those that the model processed; None if neither came.

    The model also processes the vendor's own instructions, which are not billed and may be cached:
    cached tokens count up to the billed ones.
    """
    reported = plain_mapping(usage)
    parts = {"cached_tokens": whole(reported.get("cached_tokens")) or 0}
    counts = _pair(reported.get("billed_units")) or _pair(reported.get("tokens"))
    return counts and put_together("cohere", *counts, None, parts)


def _pair(counts: Any) -> tuple[int | None, int | None] | None:
    """Return input and output tokens, each None if invalid; None if both are missing or 0."""
    pair = plain_mapping(counts)
    prompt, generated = (whole(pair.get(n)) for n in ("input_tokens", "output_tokens"))
    return (prompt, generated) if prompt or generated else None


def _check_ranges(vendor: Vendor, request: CompletionRequest) -> None:
    for name in PENALTIES:
        check_range(vendor, request, name, 0, 1)
    check_range(vendor, request, "top_p", 0.01, 0.99)
