"""Anthropic's Messages format: a prompt becomes one user's message.

Source: docs.anthropic.com (messages, errors, versioning), and the types of its Python client.
"""

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, ClassVar

from marshmallow import fields, validate

from app.formats import strict_json
from app.gateways.base import single_prompt
from app.gateways.decoding import failures
from app.gateways.decoding.counts import put_together
from app.gateways.decoding.finish import GOES_ON, narrow
from app.gateways.decoding.parsing import plain_mapping, whole
from app.gateways.decoding.reader import ResponseReader
from app.gateways.decoding.typed_events import TypedEvents, joined_text, name_or, text_of
from app.gateways.parameters import check_extra, check_prompt, check_range, supported
from app.gateways.stops import StopCutter, as_list
from app.vendors.vendor import Vendor
from app.vocabulary.completion import Choice, Completion, CompletionRequest, Usage
from app.vocabulary.errors import GatewayError
from app.vocabulary.vendor_request import VendorRequest

SAMPLING = ("temperature", "top_p")


class AnthropicGateway:
    """Chat with Claude: one prompt and one sample per call."""

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
        # sent if the caller sets no max_tokens, which the format requires
        "default_max_tokens": fields.Integer(
            required=True, strict=True, validate=validate.Range(min=1)
        ),
        # globs of models that reject temperature and top_p
        "no_sampling": fields.List(fields.String(), load_default=list),
    }

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
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
        # 1 is the vendor's default for both, and most models reject a request that sets both.
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

    def reader(self, vendor: Vendor, request: CompletionRequest) -> ResponseReader:
        return ResponseReader(AnthropicDecoder(vendor, request))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        return failure(vendor, status, failures.detail_in(body), headers)


class AnthropicDecoder(TypedEvents):
    """Decodes messages and events; `message_stop` is the end mark."""

    def __init__(self, vendor: Vendor, request: CompletionRequest) -> None:
        super().__init__(vendor, request)
        self._cutter = _cutter(request)
        self._counts: dict[str, Any] = {}

    def read_whole(self, payload: Any) -> Completion:
        message = plain_mapping(payload)
        if failures.error_in(message):
            raise self.failure(failures.detail_of(message))
        self._begin(message)
        text = joined_text(self.vendor, message.get("content"))
        text = self._cutter.feed(text) + self._cutter.flush()
        finish = narrow(self.vendor, message.get("stop_reason"))
        chunk = self._chunk(text, ("stop", None) if self._cutter.is_cut else finish)
        chunk = replace(chunk, usage=self.usage(message), service_tier=_tier(message))
        # A message without text is still a choice.
        return chunk if chunk.choices else replace(chunk, choices=(Choice(0, ""),))

    def failure(self, detail: failures.Detail) -> GatewayError:
        return failure(self.vendor, None, detail)

    def usage(self, payload: Any) -> Usage | None:
        """Return the usage so far. Events repeat running totals; one that is 0 is no update.

        `message_start` counts at most one output token, which is ignored.
        """
        body = plain_mapping(payload)
        is_start = body.get("type") == "message_start"
        around = plain_mapping(body.get("message")) if is_start else body
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
        self._id = name_or(message.get("id"))
        self._model = name_or(message.get("model"), self._model)

    def _block(self, block: Mapping[str, Any], text_type: str) -> Completion:
        is_text = block.get("type") == text_type and not self._cutter.is_cut
        text = self._cutter.feed(text_of(self.vendor, block)) if is_text else ""
        if is_text and self._cutter.is_cut:
            return self._chunk(text, ("stop", None))
        return self._chunk(text)  # reasoning has no text, but shows that the vendor is at work

    def _end(self, event: Mapping[str, Any]) -> Completion:
        finish, text = GOES_ON, ""
        if not self._cutter.is_cut:  # otherwise, the choice ended at the stop sequence
            finish = narrow(self.vendor, plain_mapping(event.get("delta")).get("stop_reason"))
            text = self._cutter.flush() if finish.reason is not None else ""
        return self._chunk(text, finish, self.usage(event))


#: Codes that mean Tollgate's billing, whatever the status.
BILLING_CODES = frozenset(
    {"contract_spend_limit_reached", "enforced_spend_limit_reached", "organization_on_hold"}
)

#: Part of the message of an empty account, which comes with status 400 and no code of its own.
LOW_BALANCE = "credit balance is too low"


def failure(
    vendor: Vendor,
    status: int | None,
    detail: failures.Detail,
    headers: Mapping[str, str] | None = None,
) -> GatewayError:
    """Return the error for a status and an error body; `status` None: it came with status 200."""
    if detail.code in BILLING_CODES or LOW_BALANCE in (detail.message or ""):
        detail = replace(detail, type="billing_error")
    return failures.failure(vendor, status, detail, headers)


def _tier(message: Mapping[str, Any]) -> str | None:
    return name_or(plain_mapping(message.get("usage")).get("service_tier")) or None


def decode_usage(usage: Any) -> Usage | None:
    """Return the vendor's usage, maybe with an unknown side; None if it has no count.

    The vendor's `input_tokens` exclude those that are read from its cache or written to it. A
    count of 0 is unknown.
    """
    counts = plain_mapping(usage)
    fresh, written, cached, generated = (whole(counts.get(name)) or 0 for name in COUNTS)
    thought = whole(plain_mapping(counts.get("output_tokens_details")).get("thinking_tokens"))
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
    """Return the sampling parameters that this model rejects."""
    globs = vendor.quirks["no_sampling"]
    return frozenset(SAMPLING if any(fnmatchcase(request.model_name, g) for g in globs) else ())


def _cutter(request: CompletionRequest) -> StopCutter:
    """Return a cutter for the stop sequences that the vendor rejects: those of only white space."""
    return StopCutter([stop for stop in as_list(request.stop) if not stop.strip()])
