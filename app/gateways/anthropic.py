"""Anthropic's Messages wire: a prompt is one user's message.

Source: docs.anthropic.com (messages, errors, versioning), and the types of its Python client.
"""

import time
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from marshmallow import fields, validate

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
from app.gateways.stops import StopCutter, as_list
from app.gateways.typed_events import TypedEventDecoder, joined_text, text_of, word

SAMPLING = ("temperature", "top_p")


class AnthropicGateway:
    """Chat with Claude, one prompt and one sample a call."""

    refuses: ClassVar[frozenset[str]] = frozenset(
        {
            "best_of",
            "frequency_penalty",
            "logit_bias",
            "logprobs",
            "presence_penalty",
            "seed",
            "suffix",
        }
    )
    list_prompts: ClassVar[bool] = False
    max_n: ClassVar[int] = 1
    quirks: ClassVar[Mapping[str, fields.Field[Any]]] = {
        # the `anthropic-version` header
        "version": fields.String(required=True),
        # sent when the caller set no max_tokens, which the wire requires
        "default_max_tokens": fields.Integer(
            required=True, strict=True, validate=validate.Range(min=1)
        ),
        # globs of models that take no temperature and no top_p
        "no_sampling": fields.List(fields.String(), load_default=list),
    }

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        """Return the vendor's request: what the caller set, and what the wire requires."""
        check_prompt(vendor, request)
        check_extra(vendor, request)
        parameters, dropped = supported(vendor, request, self.refuses | _fixed(vendor, request))
        body: dict[str, Any] = {
            "model": request.model_name,
            "max_tokens": parameters.get("max_tokens", vendor.quirks["default_max_tokens"]),
            "messages": [{"role": "user", "content": single_prompt(request)}],
        }
        if "temperature" in parameters:
            check_range(vendor, request, "temperature", 0, 1)
        # 1 is the vendor's default for both, and most models refuse a request that sets both.
        body |= {name: value for name in SAMPLING if (value := parameters.get(name, 1)) != 1}
        if stops := [stop for stop in as_list(request.stop) if stop.strip()]:
            body["stop_sequences"] = stops
        if "user" in parameters:
            body["metadata"] = {"user_id": parameters["user"]}
        if request.stream:
            body["stream"] = True
        headers = {
            "content-type": "application/json",
            "anthropic-version": vendor.quirks["version"],
            **authorization(vendor),
            **vendor.headers,
        }
        return VendorRequest(f"{vendor.base_url}/messages", headers, wire.dump(body), dropped)

    def decode(self, vendor: Vendor, request: CompletionRequest, body: bytes) -> Completion:
        """Return the whole answer."""
        message = plain_mapping(load(vendor, body))
        if failures.error_in(message):
            raise failures.failure(vendor, None, failures.detail(message))
        text = joined_text(vendor, message.get("content"))
        reason = narrow(vendor, message.get("stop_reason"))
        if reason is None:
            raise failed(vendor, "sent an answer that is not complete")
        cutter = _cutter(request)
        text = cutter.feed(text) + cutter.flush()
        return Completion(
            id=word(message.get("id")),
            created=int(time.time()),
            model=word(message.get("model"), request.model_name),
            choices=(Choice(0, text, "stop" if cutter.is_cut else reason),),
            usage=decode_usage(message.get("usage")),
        )

    def stream_decoder(
        self, vendor: Vendor, request: CompletionRequest
    ) -> "AnthropicStreamDecoder":
        """Return the decoder for one streamed answer."""
        return AnthropicStreamDecoder(vendor, request)

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return what the vendor's refusal means to the caller."""
        return failures.from_response(vendor, status, headers, body)


class AnthropicStreamDecoder(TypedEventDecoder):
    """One streamed answer, whole when `message_stop` follows a reason for stopping."""

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        super().__init__(vendor, request)
        self._cutter = _cutter(request)
        self._counts: dict[str, Any] = {}
        self._finished = False

    def _read(self, kind: str, event: Mapping[str, Any]) -> Iterator[Completion]:
        match kind:
            case "message_start":
                self._begin(plain_mapping(event.get("message")))
            case "content_block_start":
                yield from self._block(plain_mapping(event.get("content_block")), "text")
            case "content_block_delta":
                yield from self._block(plain_mapping(event.get("delta")), "text_delta")
            case "message_delta":
                yield from self._end(event)
            case "message_stop":
                if not self._finished:
                    raise failed(self._vendor, "ended the answer without a reason")
                self._whole = True

    def _begin(self, message: Mapping[str, Any]) -> None:
        # Its counts are not passed on: those of the output have hardly begun, and a caller that
        # leaves would be charged for a word.
        self._count(message)
        self._id = word(message.get("id"))
        self._model = word(message.get("model"), self._model)

    def _block(self, block: Mapping[str, Any], text_type: str) -> Iterator[Completion]:
        is_text = block.get("type") == text_type and not self._finished
        text = self._cutter.feed(text_of(self._vendor, block)) if is_text else ""
        if is_text and self._cutter.is_cut:
            self._finished = True
            yield self._chunk(text, "stop")
        else:
            yield self._chunk(text)  # thinking, too: the vendor is at work

    def _end(self, event: Mapping[str, Any]) -> Iterator[Completion]:
        self._count(event)
        text, reason = "", None
        if not self._finished:
            delta = plain_mapping(event.get("delta"))
            reason = narrow(self._vendor, delta.get("stop_reason"))
            self._finished = reason is not None
            text = self._cutter.flush() if self._finished else ""
        yield self._chunk(text, reason, decode_usage(self._counts))

    def _count(self, told: Mapping[str, Any]) -> None:
        """Take note of counts, which are running totals; one that is left out or 0 says nothing."""
        usage = plain_mapping(told.get("usage"))
        self._counts |= {name: count for name, count in usage.items() if count}


def decode_usage(usage: Any) -> Usage | None:
    """Return the vendor's count, or None when there is none.

    Tokens read from the vendor's cache or written to it are no part of its `input_tokens`.
    """
    if not isinstance(usage, dict):
        return None
    counts = [whole(usage.get(name) or 0) for name in COUNTS]
    if any(count is None for count in counts):
        return None  # an estimate, marked as one, is better than half a count
    fresh, written, cached, generated = (count or 0 for count in counts)
    thought = whole(plain_mapping(usage.get("output_tokens_details")).get("thinking_tokens"))
    prompt = fresh + written + cached
    found = Usage(
        prompt_tokens=prompt,
        completion_tokens=generated,
        total_tokens=prompt + generated,
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=min(thought or 0, generated),
    )
    return found or None


COUNTS = (
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
)


def _fixed(vendor: Vendor, request: CompletionRequest) -> frozenset[str]:
    """Return the sampling parameters that this model does not take."""
    globs = vendor.quirks["no_sampling"]
    return frozenset(SAMPLING if any(fnmatchcase(request.model_name, g) for g in globs) else ())


def _cutter(request: CompletionRequest) -> StopCutter:
    """Return the cutter for the stop sequences that the vendor refuses: those of blanks alone."""
    return StopCutter([stop for stop in as_list(request.stop) if not stop.strip()])
