"""OpenAI's text-completions format, which most vendors and self-hosted servers use.

Their differences are keys of their entries in the vendor table, not branches here.
Source: OpenAI's CreateCompletionRequest; docs/vendors.md.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import fields, validate

from app.formats import strict_json
from app.gateways.decoding.reader import ResponseReader
from app.gateways.openai import errors
from app.gateways.openai.response import OpenAIDecoder
from app.gateways.parameters import check_prompt, supported
from app.gateways.stops import as_list
from app.vendors.vendor import Vendor
from app.vocabulary.completion import PARAMETERS, CompletionRequest
from app.vocabulary.errors import GatewayError
from app.vocabulary.request import GenerationRequest
from app.vocabulary.vendor_request import VendorRequest

LEAST_LOGPROBS = fields.Integer(strict=True, validate=validate.Range(min=0))

#: Members of `stream_options` that go with every stream, unless the caller set them.
STREAM_OPTIONS = fields.Dict(keys=fields.String())


class OpenAIGateway:
    """Text completions: the request is forwarded, and the response converted to the contract."""

    unsupported: ClassVar[frozenset[str]] = frozenset()
    list_prompts: ClassVar[bool] = True
    max_n: ClassVar[int] = 128
    quirks: ClassVar[Mapping[str, fields.Field[Any]]] = {
        # fields of every request, unless the caller sets them
        "sends": fields.Dict(keys=fields.String()),
        # parameters that its completions do not support, although its chat does
        "unsupported": fields.List(fields.String(validate=validate.OneOf(PARAMETERS))),
        # `stop` must be a list
        "stop_list": fields.Boolean(),
        # false: it cannot stream; the caller of a stream gets the completion in one chunk
        "streams": fields.Boolean(),
        # minimum of `logprobs` that the server accepts; further alternatives are removed
        "least_logprobs": LEAST_LOGPROBS,
        "stream_options": STREAM_OPTIONS,
        **errors.QUIRKS,
    }

    def encode(self, vendor: Vendor, request: CompletionRequest) -> VendorRequest:
        body, dropped = native_body(vendor, request)
        return posted(vendor, request, "/completions", body, dropped)

    def reader(self, vendor: Vendor, request: CompletionRequest) -> ResponseReader:
        return ResponseReader(OpenAIDecoder(vendor, request))

    def decode_error(
        self, vendor: Vendor, status: int, headers: Mapping[str, str], body: bytes
    ) -> GatewayError:
        return errors.decode_error(vendor, status, headers, body)


def native_body(
    vendor: Vendor, request: CompletionRequest
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the body of a request for text completions, and the parameters dropped from it.

    Raises: UnsupportedParameter.
    """
    check_prompt(vendor, request)
    unsupported = frozenset(vendor.quirks.get("unsupported", ()))
    parameters, dropped = supported(vendor, request, unsupported)
    least = vendor.quirks.get("least_logprobs", 0)
    if parameters.get("logprobs", least) < least:
        parameters["logprobs"] = least
    if "stop" in parameters and vendor.quirks.get("stop_list"):
        parameters["stop"] = as_list(parameters["stop"])
    body = {"model": request.model_name, "prompt": request.prompt}
    return body | vendor.quirks.get("sends", {}) | parameters | dict(request.extra), dropped


def posted(
    vendor: Vendor,
    request: GenerationRequest,
    path: str,
    body: Mapping[str, Any],
    dropped: tuple[str, ...] = (),
) -> VendorRequest:
    """Return the request that posts a body to an OpenAI-compatible endpoint."""
    return VendorRequest(
        f"{vendor.base_url}{path}",
        json_headers(vendor, request),
        strict_json.dump({**body, **stream_fields(vendor, request)}),
        dropped,
    )


def stream_fields(vendor: Vendor, request: GenerationRequest) -> dict[str, Any]:
    """Return the fields that request a stream and its usage; {} for a whole response."""
    if not is_streamed(vendor, request):
        return {}
    if not vendor.asks_usage:  # it rejects `stream_options`
        return {"stream": True}
    ours, theirs = vendor.quirks.get("stream_options", {}), request.stream_options or {}
    options = {**ours, **theirs, "include_usage": True}
    return {"stream": True, "stream_options": options}


def is_streamed(vendor: Vendor, request: GenerationRequest) -> bool:
    """Whether to request a stream from the vendor."""
    return request.stream and bool(vendor.quirks.get("streams", True))


def json_headers(vendor: Vendor, request: GenerationRequest) -> dict[str, str]:
    """Return the headers of a JSON request."""
    streamed = is_streamed(vendor, request)
    return {
        "content-type": "application/json",
        "accept": "text/event-stream" if streamed else "application/json",
        **vendor.headers,
    }
