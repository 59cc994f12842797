"""Anthropic's Messages wire: a prompt is one user's message.

Source: docs.anthropic.com (messages, errors, versioning), and the types of its Python client.
"""

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from marshmallow import fields, validate

from app.formats import strict_json
from app.gateways.base import plain_mapping, single_prompt
from app.gateways.decoding import failures
from app.gateways.decoding.counts import put_together
from app.gateways.decoding.finish import GOES_ON, narrow
from app.gateways.decoding.parsing import whole
from app.gateways.decoding.reader import AnswerReader
from app.gateways.decoding.typed_events import TypedEvents, joined_text, text_of, word
from app.gateways.parameters import check_extra, check_prompt, check_range, supported
from app.gateways.stops import StopCutter, as_list
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest

SAMPLING = ("temperature", "top_p")


class AnthropicGateway:
    """Chat with Claude, one prompt and one sample a call."""

    unsupported: ClassVar[frozenset[str]] = frozenset(
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
        parameters, dropped = supported(vendor, request, self.unsupported | _fixed(vendor, request))
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
            **vendor.headers,
        }
        return VendorRequest(
            f"{vendor.base_url}/messages", headers, strict_json.dump(body), dropped
        )

    def reader(self, vendor: Vendor, request: CompletionRequest) -> AnswerReader:
        """Return the reader of one answer."""
        return AnswerReader(AnthropicWire(vendor, request))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        """Return what the vendor's refusal means to the caller."""
        return failures.from_response(vendor, status, headers, body)


class AnthropicWire(TypedEvents):
    """What Claude's messages and events mean; `message_stop` is the end."""

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        super().__init__(vendor, request)
        self._cutter = _cutter(request)
        self._counts: dict[str, Any] = {}

    def read_whole(self, payload: Any) -> Completion:
        """Return a whole message."""
        message = plain_mapping(payload)
        if failures.error_in(message):
            raise failures.failure(self.vendor, None, failures.detail(message))
        self._begin(message)
        text = joined_text(self.vendor, message.get("content"))
        text = self._cutter.feed(text) + self._cutter.flush()
        finish = narrow(self.vendor, message.get("stop_reason"))
        chunk = self._chunk(text, ("stop", None) if self._cutter.is_cut else finish)
        chunk = replace(chunk, usage=self.usage(message), service_tier=_tier(message))
        # A message is its choice, also where it holds no word.
        return chunk if chunk.choices else replace(chunk, choices=(Choice(0, ""),))

    def usage(self, payload: Any) -> Usage | None:
        """Return what is counted by now; at the start, the output's count is of a word at most.

        Events repeat running totals: one that is left out or 0 says nothing.
        """
        told = plain_mapping(payload)
        is_start = told.get("type") == "message_start"
        around = plain_mapping(told.get("message")) if is_start else told
        usage = plain_mapping(around.get("usage"))
        new = {name: count for name, count in usage.items() if count}
        if is_start:
            new.pop("output_tokens", None)
        self._counts |= new
        return decode_usage(self._counts) if new else None

    def _event(self, kind: str, event: Mapping[str, Any]) -> Completion | None:
        match kind:
            case "message_start":
                message = plain_mapping(event.get("message"))
                self._begin(message)
                begun = self._chunk(usage=self.usage(event), tier=_tier(message))
                return replace(begun, choices=(Choice(0, ""),))
            case "content_block_start":
                return self._block(plain_mapping(event.get("content_block")), "text")
            case "content_block_delta":
                return self._block(plain_mapping(event.get("delta")), "text_delta")
            case "message_delta":
                return self._end(event)
            case "message_stop":
                self.is_over = True
        return None

    def _begin(self, message: Mapping[str, Any]) -> None:
        self._id = word(message.get("id"))
        self._model = word(message.get("model"), self._model)

    def _block(self, block: Mapping[str, Any], text_type: str) -> Completion:
        is_text = block.get("type") == text_type and not self._cutter.is_cut
        text = self._cutter.feed(text_of(self.vendor, block)) if is_text else ""
        if is_text and self._cutter.is_cut:
            return self._chunk(text, ("stop", None))
        return self._chunk(text)  # thinking, too: the vendor is at work

    def _end(self, event: Mapping[str, Any]) -> Completion:
        finish, text = GOES_ON, ""
        if not self._cutter.is_cut:  # else it has its end, which was none of the vendor's
            finish = narrow(self.vendor, plain_mapping(event.get("delta")).get("stop_reason"))
            text = self._cutter.flush() if finish.reason is not None else ""
        return self._chunk(text, finish, self.usage(event))


def _tier(message: Mapping[str, Any]) -> str | None:
    return word(plain_mapping(message.get("usage")).get("service_tier")) or None


def decode_usage(usage: Any) -> Usage | None:
    """Return the vendor's count, halves too, or None when there is none.

    Tokens read from the vendor's cache or written to it are no part of its `input_tokens`. A
    count that is left out or 0 says nothing: events repeat the running totals that they know.
    """
    told = plain_mapping(usage)
    fresh, written, cached, generated = (whole(told.get(name)) or 0 for name in COUNTS)
    thought = whole(plain_mapping(told.get("output_tokens_details")).get("thinking_tokens"))
    return put_together(
        "anthropic",
        (fresh + written + cached) or None,
        generated or None,
        None,
        {
            "cached_tokens": cached,
            "cache_write_tokens": written,
            "reasoning_tokens": thought or 0,
        },
    )


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
